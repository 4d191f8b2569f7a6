from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mcp.client.stdio import StdioServerParameters

from tests.client.small_crib import SmallCrib, served_over_http
from toolcrib_client import Crib

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from toolcrib_client.link import Mode
    from toolcrib_client.target import Reachable

ROOT = Path(__file__).parents[2]
SMALL_CRIB = StdioServerParameters(
    command=sys.executable, args=["-m", "tests.client.small_crib"], cwd=ROOT
)


@asynccontextmanager
async def reachable(transport: str, small: SmallCrib) -> AsyncIterator[Reachable]:
    if transport == "http":
        async with served_over_http(small) as url:
            yield url
    else:
        yield SMALL_CRIB if transport == "stdio" else small.server


@pytest.fixture
def small() -> SmallCrib:
    return SmallCrib()


@pytest.fixture(scope="module", params=["memory", "stdio", "http"])
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
async def any_crib(transport: str, mode: Mode) -> AsyncIterator[Crib]:
    """One for all tests of a file: starting a process takes a second."""
    async with reachable(transport, SmallCrib()) as target, Crib(target, mode=mode) as crib:
        yield crib


@pytest.fixture
async def crib(small: SmallCrib) -> AsyncIterator[Crib]:
    async with Crib(small) as crib:
        yield crib
