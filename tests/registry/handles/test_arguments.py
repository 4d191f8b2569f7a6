from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.registry.cribs import listed, raw_tool
from tests.registry.handles.desk import ROWS, Desk, keeping_desk, plain, structured
from toolcrib_protocol.call_rules import RuleScope, ScopeKind
from toolcrib_protocol.errors import (
    INVALID_ARGUMENTS,
    INVALID_EXPRESSION,
    NOT_PERMITTED,
    UNKNOWN_HANDLE,
    ErrorKind,
)
from toolcrib_registry.call import Call
from toolcrib_registry.call_rules import set_rules
from toolcrib_registry.permissions import Caller

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_protocol.json_value import Json, JsonObject


@pytest.fixture
async def desk(tmp_path: Path) -> Desk:
    return await keeping_desk(tmp_path)


@pytest.fixture
async def table(desk: Desk) -> str:
    return await desk.handle(structured({"rows": ROWS, "total": 5_000}))


@pytest.mark.promise("handle-arguments")
async def test_a_handle_in_the_arguments_is_replaced_by_what_it_stands_for(
    desk: Desk, table: str
) -> None:
    given: JsonObject = {
        "body": {"a": [{"$handle": table, "path": "rows[1]"}, 1, "x"], "b": {"$handle": 3}},
        "n": {"$handle": table, "path": "$.total"},
        "to": {"$handle": table, "filter": "join([r.name for r in it.rows[:2]], '; ')"},
    }
    assert not (await desk.call("mail/send", given)).is_error
    assert desk.mail.called[-1][1] == {
        "body": {"a": [ROWS[1], 1, "x"], "b": {"$handle": 3}},
        "n": 5_000,
        "to": "row 0; row 1",
    }


@pytest.mark.promise("handle-arguments")
async def test_what_a_handle_stands_for_is_checked_like_any_argument(
    desk: Desk, table: str
) -> None:
    error = (await desk.call("mail/send", {"to": {"$handle": table, "path": "rows[1]"}})).error
    assert error is not None
    assert error.code == INVALID_ARGUMENTS
    assert [tool for tool, _ in desk.mail.called] == ["list"]


async def test_the_whole_value_and_a_text_can_be_passed(desk: Desk) -> None:
    text = await desk.handle(plain("w" * 30_000))
    await desk.call("mail/send", {"to": {"$handle": text}})
    assert desk.mail.called[-1][1] == {"to": "w" * 30_000}
    as_text = json.dumps({"to": {"$handle": text, "filter": "it[:3]"}})
    await desk.call("mail/send", as_text)
    assert desk.mail.called[-1][1] == {"to": "www"}


NOT_HANDLES: list[Json] = [
    {"body": {"$handle": "h_x", "other": 1}},
    {"body": {"$handle": "h_x", "path": 3}},
    {"body": {"$handle": ["h_x"]}},
    {"body": "$handle"},
]


@pytest.mark.parametrize("given", NOT_HANDLES)
async def test_an_object_with_other_keys_is_the_tools_own(desk: Desk, given: Json) -> None:
    await desk.call("mail/send", given)
    assert desk.mail.called[-1][1] == given


async def test_arguments_that_are_no_object_are_left_to_the_check(desk: Desk) -> None:
    for given in ('{"to": "x"', 'say "$handle"', 3, None):
        await desk.call("mail/send", given)
    deep: Json = {"$handle": "h_x"}
    for _ in range(80):
        deep = [deep]
    await desk.call("mail/send", {"body": deep})
    assert desk.mail.called[-1][1] == {"body": deep}


@pytest.mark.promise("handle-access")
async def test_a_handle_of_another_caller_or_time_is_unknown(desk: Desk, table: str) -> None:
    given: JsonObject = {"body": {"$handle": table}}
    assert not (await desk.call("mail/send", given)).is_error
    foreign = await desk.calls.call(Call("mail/send", given, caller=Caller("eve")))
    desk.clock.advance(3_600)
    for result in (foreign, await desk.call("mail/send", given)):
        assert result.error is not None
        assert result.error.code == UNKNOWN_HANDLE


@pytest.mark.promise("handle-crossing")
async def test_what_one_source_said_goes_to_another_only_where_that_is_allowed(
    desk: Desk, table: str
) -> None:
    given: JsonObject = {"body": {"$handle": table, "path": "total"}}
    error = (await desk.call("web/post", given)).error
    assert error is not None
    assert error.code == NOT_PERMITTED
    assert error.kind is ErrorKind.NEEDS_HUMAN
    assert "toolcrib rules set source:mail results_may_go_to=web" in error.message
    assert desk.web.called == []
    scope = RuleScope(ScopeKind.SOURCE, "mail")
    for allowed in (["other"], ["web"], ["*"]):
        values: JsonObject = {"results_may_go_to": [*allowed]}
        await desk.catalogue.change(lambda s, values=values: set_rules(s, scope, values))  # type: ignore[misc]
        result = await desk.call("web/post", given)
        assert result.is_error is (allowed == ["other"])
    assert desk.web.called == [("post", {"body": 5_000})] * 2


@pytest.mark.promise("handle-crossing")
async def test_sources_of_one_group_may_see_each_others_results(desk: Desk, table: str) -> None:
    await listed(desk.catalogue, "mail-too", raw_tool("forward", {"body": {}}), group="mail")
    error = (await desk.call("mail/forward", {"body": {"$handle": table, "path": "total"}})).error
    assert error is not None
    assert error.code != NOT_PERMITTED  # its source does not run


async def test_too_many_or_too_large_values_and_faulty_paths_are_refused(
    desk: Desk, table: str
) -> None:
    many: Json = [{"$handle": table, "path": f"rows[{n}].id"} for n in range(21)]
    large = await desk.handle(plain("w" * 9_000_000))
    refused: list[tuple[Json, str, str]] = [
        (many, INVALID_ARGUMENTS, "21 handles"),
        ({"$handle": large}, INVALID_ARGUMENTS, "is over 8,388,608 bytes; pick a part"),
        ({"$handle": table, "path": "rosw"}, INVALID_EXPRESSION, "did you mean 'rows'?"),
    ]
    for body, code, words in refused:
        error = (await desk.call("mail/send", {"body": body})).error
        assert error is not None
        assert error.code == code
        assert words in error.message
