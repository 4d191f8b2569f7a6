"""Large results over a whole crib: store, worker, gateway, client, and the documentation's code."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import anyio
import pytest
from examples import large_results
from mcp import Client

from tests.docs_blocks import ROOT
from toolcrib_adapters.main import open_crib
from toolcrib_adapters.settings import CribSettings
from toolcrib_adapters.surfaces.mcp_server import build_server
from toolcrib_adapters.surfaces.publisher import CribPublisher
from toolcrib_client import Crib, InvalidArguments, ToolError, handle_of
from toolcrib_client.kept_results import value_read
from toolcrib_protocol.content import text_block
from toolcrib_protocol.result import Result

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from toolcrib_adapters.surfaces.mcp_server import CribServer
    from toolcrib_protocol.json_value import JsonObject


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[CribServer]:
    home: Path = tmp_path_factory.mktemp("home")
    with anyio.fail_after(120):
        async with open_crib(CribSettings(home=home, encoder="none")) as whole:
            publisher = CribPublisher(whole.catalogue, whole.supervisor, whole.clock)
            server = build_server(whole.catalogue, whole.calls, whole.search, publisher=publisher)
            async with Crib(server) as crib:
                await crib.publish(ROOT / "examples/tools/sales_ledger.py", source="sales")
            yield server


@pytest.fixture
async def crib(server: CribServer) -> AsyncIterator[Crib]:
    async with Crib(server) as crib:
        yield crib


@pytest.mark.promise("client-kept-results")
async def test_the_example_of_the_documentation_reads_and_passes_on(
    crib: Crib, capsys: pytest.CaptureFixture[str]
) -> None:
    await large_results.show(crib)
    shape, city, ids, average = capsys.readouterr().out.splitlines()
    assert shape.startswith("shape: {rows: [5,000 x {id: number, city: text(3), price: number}]")
    assert (city, ids) == ("Bonn", "[999, 1999, 2999, 3999, 4999]")
    assert average == "{'result': 49.8}"


@pytest.mark.promise("client-kept-results")
async def test_a_program_gets_the_whole_and_a_models_tool_call_the_preview(crib: Crib) -> None:
    whole = await crib.call("sales/list_sales")
    assert handle_of(whole) is None
    assert isinstance(whole.data, dict)
    several = await crib.call_many([("sales/list_sales", {"count": 3_000})] * 3)
    assert [handle_of(result) for result in several] == [None] * 3
    asked = {"id": "1", "function": {"name": "sales__list_sales", "arguments": "{}"}}
    message = await crib.dispatch({**asked, "type": "function"})
    assert "Read on with read_result" in str(message["content"])
    assert len(str(message)) < 10_000


async def test_a_model_reads_on_by_the_meta_tool(crib: Crib) -> None:
    handle = handle_of(await crib.call("sales/list_sales", whole=False))
    arguments = json.dumps({"handle": handle, "path": "rows", "range": [1, 3]})
    call = {"id": "1", "type": "function"}
    message = await crib.dispatch(
        {**call, "function": {"name": "read_result", "arguments": arguments}}
    )
    assert '"city":"Bonn"' in str(message["content"])
    wrong = json.dumps({"handle": handle, "range": [1]})
    message = await crib.dispatch({**call, "function": {"name": "read_result", "arguments": wrong}})
    assert "write [start, end]" in str(message["content"])


async def test_failed_readings_raise_what_the_crib_says(crib: Crib) -> None:
    handle = handle_of(await crib.call("sales/list_sales", whole=False))
    assert handle is not None
    with pytest.raises(ToolError, match="did you mean 'rows'"):
        await crib.read(handle, "rosw")
    with pytest.raises(InvalidArguments, match="there are 5,000"):
        await crib.read(handle, "rows", range=(9_000, 9_001))
    with pytest.raises(ToolError, match="no kept result 'h_nothing'"):
        await crib.read("h_nothing")


async def test_the_whole_is_read_as_the_value_it_is(crib: Crib) -> None:
    handle = handle_of(await crib.call("sales/list_sales", whole=False))
    assert handle is not None
    value = await crib.read(handle)
    assert isinstance(value, dict)
    assert [*value] == ["rows", "total"]
    assert await crib.read(handle, range=(0, 8)) == '{"rows":'


def test_blocks_come_as_a_list_and_an_empty_answer_as_an_empty_text() -> None:
    blocks = (text_block("a"),)
    meta: JsonObject = {"io.toolcrib/read": {"kind": "blocks"}}
    assert value_read(Result(content=blocks, meta=meta)) == [*blocks]
    assert value_read(Result()) == ""


@pytest.mark.promise("handle-strict-clients")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_strict_client_that_calls_by_name_gets_an_answer(
    server: CribServer, mode: str
) -> None:
    async with Client(server, mode=mode) as client:
        listed = await client.list_tools()
        assert "read_result" in [tool.name for tool in listed.tools]
        result = await client.call_tool("sales__list_sales", {})
    assert not result.is_error
    assert result.structured_content is not None
    assert len(result.structured_content["rows"]) == 10
    assert "read_result" in str(result.content[0])
