"""Answers and lists that hold what JSON, or a parser of it, has no room for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.adapters.sources.mcp_upstream.bay import bay
from tests.fake_upstreams import line_server
from toolcrib_adapters.sources.mcp_upstream.stateless_messages import message_in
from toolcrib_adapters.sources.mcp_upstream.stdio_messages import message_of
from toolcrib_adapters.sources.mcp_upstream.unwritable import DEEPEST, NOT_NUMBERS
from toolcrib_protocol.errors import UPSTREAM_PROTOCOL, ToolError
from toolcrib_protocol.foreign_tool import Adopted, Quarantined, judge

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolcrib_protocol.json_value import Json


def answer(**result: Json) -> str:
    """The line of an answer, as the line server writes it."""
    return '{"jsonrpc":"2.0","id":ID,"result":' + json.dumps({"content": [], **result}) + "}"


def deep(levels: int) -> Json:
    value: Json = "bottom"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.promise("sources-not-numbers")
async def test_a_number_that_json_cannot_write_becomes_null_and_is_named() -> None:
    infinity, nan = float("inf"), float("nan")
    text = answer(structuredContent={"a/b": [1.5, -infinity], "c": nan}, _meta={"x": nan, "y": 1})
    async with bay(line_server()) as made:
        result = await made.call("write", text=text)
        assert result.data == {"a/b": [1.5, None], "c": None}
        pointers = ["/_meta/x", "/structuredContent/a~1b/1", "/structuredContent/c"]
        assert result.meta == {"x": None, "y": 1, NOT_NUMBERS: pointers}
        huge = await made.call("write", text=text.replace("NaN", "1e999"))
        assert huge.data == result.data
        odd_meta = await made.call("write", text=answer(structuredContent=nan, _meta=[nan]))
        assert odd_meta.meta == {NOT_NUMBERS: ["/_meta/0", "/structuredContent"]}
        untouched = await made.call("write", text=answer(structuredContent={"v": 1e300}))
        assert (untouched.data, untouched.meta) == ({"v": 1e300}, {})


@pytest.mark.promise("sources-deep-answers")
async def test_an_answer_nested_too_deeply_fails_alone() -> None:
    async with bay(line_server()) as made:
        fits = await made.call("write", text=answer(structuredContent=deep(DEEPEST - 1)))
        assert fits.data == deep(DEEPEST - 1)
        for levels in (DEEPEST, 300):
            with pytest.raises(ToolError, match="nested deeper than 180 levels") as refused:
                await made.call("write", text=answer(structuredContent=deep(levels)))
            assert refused.value.code == UPSTREAM_PROTOCOL
        assert (await made.facts("echo", a=1)) == {"a": 1}


def over_a_pipe(line: str) -> Any:
    message: Any = message_of(line)
    return message.result


def over_http(body: str) -> Any:
    return message_in(body.encode())["result"]


def listed(schema: str, read: Callable[[str], Any]) -> list[Any]:
    """What is read of a list with an entry of this schema among others."""
    entry = '{"name":"odd","inputSchema":' + schema + "}"
    fine = '{"name":"fine","inputSchema":{"type":"object"}}'
    line = f'{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{fine},{entry},{fine}]}}}}'
    return list(read(line)["tools"])


@pytest.mark.promise("sources-odd-entries-alone")
@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ('{"type":"object","properties":{"a":{"default":NaN}}}', "nan, which is not JSON"),
        *(
            ('{"properties":{"a [\\"":' * levels + "{}" + "}}" * levels, "150 levels deep")
            for levels in (100, 1_000, 100_000)
        ),
    ],
    ids=["nan", "deep", "deeper", "deepest"],
)
@pytest.mark.parametrize("read", [over_a_pipe, over_http])
def test_an_entry_that_cannot_be_used_takes_no_sibling_away(
    schema: str, reason: str, read: Callable[[str], Any]
) -> None:
    before, odd, after = [judge(entry) for entry in listed(schema, read)]
    assert isinstance(before, Adopted)
    assert isinstance(after, Adopted)
    assert isinstance(odd, Quarantined)
    assert odd.name == "odd"
    assert reason in odd.reason


def test_brackets_that_do_not_match_are_no_answer() -> None:
    for line in ('{"jsonrpc":"2.0","id":1,"result":' + "[" * 5_000, "{" + "]" * 5_000):
        message = message_of(line)
        assert message is None or "cannot be read" in str(message)
