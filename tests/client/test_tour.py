"""The code of `docs/client.md`, run against a whole crib: store, worker, search, gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest
from examples import client_tour

from tests.docs_blocks import ROOT
from toolcrib_adapters.main import open_crib
from toolcrib_adapters.settings import CribSettings
from toolcrib_adapters.surfaces.mcp_server import build_server
from toolcrib_adapters.surfaces.publisher import CribPublisher
from toolcrib_client import Crib

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

TOUR = ROOT / "examples/client_tour.py"


@pytest.fixture(scope="module")
async def crib(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Crib]:
    home: Path = tmp_path_factory.mktemp("home")
    with anyio.fail_after(120):
        async with open_crib(CribSettings(home=home)) as whole:
            publisher = CribPublisher(whole.catalogue, whole.supervisor, whole.clock)
            server = build_server(whole.catalogue, whole.calls, whole.search, publisher=publisher)
            async with Crib(server) as crib:
                await crib.publish(ROOT / "examples/tools/stock_room.py", source="stock-room")
                async for _ in whole.search.building():
                    pass
                yield crib


async def test_searching_finds_the_tool_that_fits(crib: Crib) -> None:
    assert await client_tour.find(crib) == "stock-room__convert_length"


async def test_describing_tells_what_callers_rely_on(
    crib: Crib, capsys: pytest.CaptureFixture[str]
) -> None:
    await client_tour.read(crib)
    first, when_not, required = capsys.readouterr().out.splitlines()
    assert first.startswith("stock-room__check_stock ('1.1.0',) {'read_only': True")
    assert "for prices" in when_not
    assert required == "['number']"


async def test_calling_brings_what_the_functions_return(
    crib: Crib, capsys: pytest.CaptureFixture[str]
) -> None:
    await client_tour.call(crib)
    one, many = capsys.readouterr().out.splitlines()
    assert one == "success {'result': True}"
    assert many == "{'result': 39.3700787402} {'result': 0.3048}"


async def test_a_wrong_argument_says_what_to_mend(
    crib: Crib, capsys: pytest.CaptureFixture[str]
) -> None:
    await client_tour.fail(crib)
    assert capsys.readouterr().out.startswith("mend the call: ")


async def test_a_models_tool_call_is_answered(
    crib: Crib, capsys: pytest.CaptureFixture[str]
) -> None:
    await client_tour.offer(crib)
    tools, answer = capsys.readouterr().out.splitlines()
    assert tools == "stock-room__convert_length ['description', 'input_schema', 'name']"
    assert "60.96" in answer
    assert "'is_error': False" in answer


async def test_publishing_says_what_became_of_it(
    crib: Crib, capsys: pytest.CaptureFixture[str]
) -> None:
    await client_tour.publish(crib)
    printed = capsys.readouterr().out
    assert "purchasing/order_parts@1.0.0" in printed
    assert "added" in printed
