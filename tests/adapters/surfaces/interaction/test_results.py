"""Results that break their output schema, from the source to the client and into the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.adapters.surfaces.bench import Bench
from tests.adapters.surfaces.doors import call_raw, call_raw_legacy, over_http
from toolcrib_adapters.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject

TEXT: JsonObject = {"type": "text", "text": "done", "annotations": {"priority": 1}}


def tool(kind: str) -> JsonObject:
    return {
        "name": "answer",
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": kind},
    }


@pytest.mark.promise("field-o13-shape")
async def test_a_misshapen_result_reaches_clients_of_both_generations_and_is_counted() -> None:
    bench, metrics = await Bench.open(), Metrics(dict)
    bench.calls.observer = metrics
    await bench.add("lab", (tool("object"),))
    given: JsonObject = {"result": {"content": [TEXT], "structuredContent": [1]}}
    through: JsonObject = {"name": "lab__answer", "arguments": given}
    async with over_http(bench.server()) as url:
        answers = [
            await call_raw(url, "lab__answer", given),
            await call_raw(url, "call_tool", through),
            await call_raw_legacy(url, "2025-06-18", "lab__answer", given),
        ]
    for answer in answers:
        assert "structuredContent" not in answer
        assert not answer.get("isError")
        assert answer["content"] == [TEXT]
        meta = answer["_meta"]
        assert isinstance(meta, dict)
        assert isinstance(meta["io.toolcrib/output_schema"], dict)
    assert 'toolcrib_misshapen_results_total{tool="lab/answer"} 3.0' in metrics.page().decode()


@pytest.mark.promise("surface-wrapped-results")
@pytest.mark.parametrize("data", [[1, 2], 7, "x", None, False])
async def test_a_result_that_is_no_object_travels_wrapped_to_older_clients_only(data: Json) -> None:
    bench = await Bench.open()
    given: JsonObject = {"result": {"content": [TEXT], "structuredContent": data}}
    async with over_http(bench.server()) as url:
        newer = await call_raw(url, "play__answer", given)
        older = await call_raw_legacy(url, "2025-11-25", "play__answer", given)
    assert newer["structuredContent"] == data
    assert older["structuredContent"] == {"result": data}
    assert newer["content"] == older["content"] == [TEXT]
