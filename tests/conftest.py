"""Fixtures of all tests: the event loop, and a PostgreSQL database for those who need one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.postgres import fresh_database

if TYPE_CHECKING:
    from collections.abc import Iterator

# A deadline is a wall clock, and a busy machine is not a wrong answer.
settings.register_profile("toolcrib", deadline=None)
settings.load_profile("toolcrib")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """What async tests run on; toolcrib promises asyncio only."""
    return "asyncio"


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """An empty PostgreSQL database; skipped without a server (`tests/postgres.py` says which)."""
    with fresh_database() as url:
        yield url
