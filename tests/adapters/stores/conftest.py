"""The stores of the tests beside this file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.adapters.stores.opening import Store, Stores

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def kind(request: pytest.FixtureRequest) -> str:
    """What a store is made of."""
    name: str = request.param
    return name


@pytest.fixture
async def stores(
    request: pytest.FixtureRequest, kind: str, tmp_path: Path
) -> AsyncIterator[Stores]:
    """One empty state of each kind of store."""
    url = request.getfixturevalue("postgres_url") if kind == "postgres" else None
    opened = Stores(kind, url, tmp_path / "home")
    yield opened
    await opened.close()


@pytest.fixture
def store(stores: Stores) -> Store:
    """One door to the state."""
    return stores.open()


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty SQL database of each kind."""
    if request.param == "postgres":
        url: str = request.getfixturevalue("postgres_url")
        return url
    return f"sqlite:///{tmp_path / 'home' / 'crib.db'}"
