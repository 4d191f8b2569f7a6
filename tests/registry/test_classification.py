"""What failures mean, by whatever way they are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolcrib_protocol.content import text_block
from toolcrib_protocol.errors import (
    AT_CAPACITY,
    BREAKER_OPEN,
    CALL_INTERRUPTED,
    INVALID_ARGUMENTS,
    NEEDS_INPUT,
    NEEDS_SIGN_IN,
    OUTCOME_UNKNOWN,
    RATE_LIMITED,
    SOURCE_DISCONNECTED,
    SOURCE_FAILED,
    SOURCE_UNAVAILABLE,
    TOOL_CRASHED,
    TOOL_FAILED,
    TOOL_TIMED_OUT,
    UNKNOWN_TOOL,
    UPSTREAM_PROTOCOL,
    ErrorKind,
    ToolError,
)
from toolcrib_protocol.result import ERROR_META, Result, Status
from toolcrib_protocol.tool import Contract
from toolcrib_registry.classification import Teller, classify, told_honestly
from toolcrib_registry.failure_tables import WHAT_TO_DO, Cause, Effect

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject

AGAIN, FATAL, PERSON = ErrorKind.RETRYABLE, ErrorKind.FATAL, ErrorKind.NEEDS_HUMAN
NONE, UNKNOWN = Effect.NONE, Effect.UNKNOWN
WRITE = Contract.model_validate({"group": "g", "name": "w"})
READ = Contract.model_validate({"group": "g", "name": "r", "behaviour": {"read_only": True}})


def failed(code: str, kind: ErrorKind = FATAL, **details: Json) -> Result:
    """A failure that the path or an adapter tells."""
    return Result.failed(ToolError(code, f"told as {code}", kind, dict(details)))


def gone(code: int) -> Result:
    """How a source says that it has no such tool."""
    text = "'desk' refused the call: Unknown tool: t"
    return Result.failed(ToolError(INVALID_ARGUMENTS, text, FATAL, {"jsonrpc_code": code}))


def said(text: str, data: Json = None, meta: JsonObject | None = None) -> Result:
    """A failure that the tool itself answers."""
    answer: JsonObject = {"isError": True, "content": [text_block(text)]}
    if data is not None:
        answer["structuredContent"] = data
    if meta is not None:
        answer["_meta"] = meta
    return Result.from_mcp(answer)


@pytest.mark.promise("healing-classification")
@pytest.mark.parametrize(
    ("result", "cause", "effect", "kind"),
    [
        (failed(SOURCE_UNAVAILABLE, AGAIN), Cause.NOT_SENT, NONE, AGAIN),
        (failed(SOURCE_UNAVAILABLE, FATAL), Cause.NOT_SENT, NONE, FATAL),
        (failed(AT_CAPACITY, AGAIN), Cause.NOT_SENT, NONE, AGAIN),
        (failed(BREAKER_OPEN, AGAIN), Cause.NOT_SENT, NONE, AGAIN),
        (failed(SOURCE_DISCONNECTED, AGAIN), Cause.CONNECTION_LOST, UNKNOWN, AGAIN),
        (failed(SOURCE_DISCONNECTED, AGAIN, sent=False), Cause.CONNECTION_LOST, NONE, AGAIN),
        (failed(TOOL_TIMED_OUT, AGAIN), Cause.TIMED_OUT, UNKNOWN, AGAIN),
        (failed(TOOL_TIMED_OUT, AGAIN, sent=False), Cause.TIMED_OUT, NONE, AGAIN),
        (failed(TOOL_CRASHED, AGAIN), Cause.CONNECTION_LOST, UNKNOWN, AGAIN),
        (failed(CALL_INTERRUPTED, AGAIN), Cause.CANCELLED, UNKNOWN, AGAIN),
        (failed(UPSTREAM_PROTOCOL), Cause.UNREADABLE, UNKNOWN, FATAL),
        (failed(UPSTREAM_PROTOCOL, asked=20), Cause.ASKED, UNKNOWN, FATAL),
        (failed(UPSTREAM_PROTOCOL, sent=True), Cause.UNREADABLE, UNKNOWN, AGAIN),
        (failed(NEEDS_SIGN_IN, PERSON, http_status=401), Cause.NOT_ALLOWED, NONE, PERSON),
        (failed(NEEDS_INPUT, PERSON), Cause.ASKED, UNKNOWN, PERSON),
        (failed(RATE_LIMITED, AGAIN), Cause.RATE_LIMITED, NONE, AGAIN),
        (failed(RATE_LIMITED, AGAIN, http_status=429), Cause.RATE_LIMITED, NONE, AGAIN),
        (failed(AT_CAPACITY, AGAIN, http_status=429), Cause.RATE_LIMITED, NONE, AGAIN),
        (failed(SOURCE_FAILED, AGAIN, http_status=500), Cause.SOURCE_FAULT, UNKNOWN, AGAIN),
        (failed(SOURCE_FAILED, AGAIN, http_status=599), Cause.SOURCE_FAULT, UNKNOWN, AGAIN),
        (failed(SOURCE_FAILED, AGAIN, http_status=501), Cause.SOURCE_FAULT, NONE, FATAL),
        (failed(SOURCE_FAILED, AGAIN, http_status=503), Cause.SOURCE_FAULT, UNKNOWN, AGAIN),
        (failed(SOURCE_FAILED, AGAIN, http_status=504), Cause.TIMED_OUT, UNKNOWN, AGAIN),
        (failed(UPSTREAM_PROTOCOL, http_status=400), Cause.BAD_ARGUMENTS, NONE, FATAL),
        (failed(UPSTREAM_PROTOCOL, http_status=418), Cause.TOOL_SAID, NONE, FATAL),
        (failed(UPSTREAM_PROTOCOL, http_status=408), Cause.TIMED_OUT, NONE, AGAIN),
        (failed(UPSTREAM_PROTOCOL, http_status=409), Cause.CONFLICT, NONE, FATAL),
        (failed(UPSTREAM_PROTOCOL, http_status=200), Cause.UNREADABLE, UNKNOWN, FATAL),
        (failed(INVALID_ARGUMENTS, jsonrpc_code=-32602), Cause.BAD_ARGUMENTS, NONE, FATAL),
        (failed(TOOL_FAILED, jsonrpc_code=-32601), Cause.TOOL_GONE, NONE, FATAL),
        (gone(-32602), Cause.TOOL_GONE, NONE, FATAL),
        (failed(TOOL_FAILED, jsonrpc_code=-32603), Cause.SOURCE_FAULT, UNKNOWN, AGAIN),
        (failed(TOOL_FAILED, jsonrpc_code=-32050), Cause.TOOL_SAID, UNKNOWN, FATAL),
        (failed(TOOL_FAILED, jsonrpc_code=-32602, http_status=400), Cause.BAD_ARGUMENTS, NONE,
         FATAL),
        (failed(TOOL_FAILED, jsonrpc_code=-32603, http_status=400), Cause.SOURCE_FAULT, UNKNOWN,
         AGAIN),
        (failed("odd_code"), Cause.TOOL_SAID, UNKNOWN, FATAL),
    ],
)  # fmt: skip
def test_each_way_to_fail_has_a_cause_an_effect_and_a_kind(
    result: Result, cause: Cause, effect: Effect, kind: ErrorKind
) -> None:
    verdict = classify(result, WRITE)
    assert (verdict.cause, verdict.effect, verdict.kind) == (cause, effect, kind)
    assert verdict.what_to_do == WHAT_TO_DO[cause]


@pytest.mark.promise("healing-classification")
@pytest.mark.parametrize(
    ("structured", "cause", "kind"),
    [
        ({"code": "RateLimited"}, Cause.RATE_LIMITED, AGAIN),
        ({"code": "rate-limited"}, Cause.RATE_LIMITED, AGAIN),
        ({"code": "ERR_TIMEOUT"}, Cause.TIMED_OUT, AGAIN),
        ({"type": "ServiceUnavailable"}, Cause.SOURCE_FAULT, AGAIN),
        ({"code": 429}, Cause.RATE_LIMITED, AGAIN),
        ({"code": 99999}, Cause.TOOL_SAID, FATAL),
        ({"code": "PermissionDenied"}, Cause.NOT_ALLOWED, PERSON),
        ({"code": "VALIDATION_ERROR"}, Cause.BAD_ARGUMENTS, FATAL),
        ({"code": "quota_exceeded"}, Cause.QUOTA, PERSON),
        ({"code": "something_else", "retryable": True}, Cause.TOOL_SAID, AGAIN),
        ("conflict", Cause.CONFLICT, FATAL),
        ([1], Cause.TOOL_SAID, FATAL),
        ({"code": 10**5000}, Cause.TOOL_SAID, FATAL),
        ({"code": True}, Cause.TOOL_SAID, FATAL),
    ],
)
def test_a_structured_error_is_understood_in_any_spelling_and_never_makes_a_write_repeatable(
    structured: Json, cause: Cause, kind: ErrorKind
) -> None:
    verdict = classify(said("no", {"error": structured}), WRITE)
    assert (verdict.cause, verdict.kind, verdict.effect) == (cause, kind, UNKNOWN)
    assert not verdict.may_repeat(WRITE)
    assert verdict.may_repeat(READ) == (kind is AGAIN)


@pytest.mark.promise("healing-classification")
@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("Rate limit exceeded, slow down", Cause.RATE_LIMITED),
        ("Request failed with status code 429", Cause.RATE_LIMITED),
        ("HTTP 503", Cause.SOURCE_FAULT),
        ("the service is temporarily unavailable", Cause.SOURCE_FAULT),
        ("request timed out after 5 s", Cause.TIMED_OUT),
        ("MCP error -32602: Invalid arguments for tool x", Cause.BAD_ARGUMENTS),
        ("Input validation error: 'q' is a required property", Cause.BAD_ARGUMENTS),
        ("Unknown tool: x", Cause.TOOL_GONE),
        ("401 Unauthorized", Cause.NOT_ALLOWED),
        ("Quota exceeded for today", Cause.QUOTA),
        ("there are 429 items, at most 100 may be moved", Cause.TOOL_SAID),
        ("limit must be below 500", Cause.TOOL_SAID),
        ("", Cause.TOOL_SAID),
    ],
)
def test_words_are_read_last_and_never_make_a_write_repeatable(text: str, cause: Cause) -> None:
    verdict = classify(said(text), WRITE)
    assert (verdict.cause, verdict.told_by) == (cause, Teller.TEXT)
    assert not verdict.may_repeat(WRITE)


@pytest.mark.promise("healing-classification")
def test_the_codes_that_a_contract_declares_come_first() -> None:
    errors: Json = [
        {"code": "shop_closed", "kind": "retryable"},
        {"code": "500", "kind": "fatal"},
        {"code": "-32050", "kind": "needs_human"},
        {"code": "rate_limited", "kind": "fatal"},
    ]
    shop = Contract.model_validate({"group": "g", "name": "w", "errors": errors})
    closed = classify(said("closed", {"error": {"code": "shop_closed", "retry_after": 2}}), shop)
    assert (closed.kind, closed.effect, closed.retry_after) == (AGAIN, NONE, 2)
    assert closed.may_repeat(shop)
    broken = classify(failed(SOURCE_FAILED, AGAIN, http_status=500), shop)
    assert (broken.kind, broken.cause, broken.told_by) == (
        FATAL, Cause.SOURCE_FAULT, Teller.CONTRACT,
    )  # fmt: skip
    assert not broken.lost_its_answer
    person = classify(failed(TOOL_FAILED, jsonrpc_code=-32050), shop)
    assert (person.kind, person.cause) == (PERSON, Cause.TOOL_SAID)
    assert classify(failed(RATE_LIMITED, AGAIN), shop).kind is FATAL
    assert classify(said("closed"), shop).told_by is Teller.TEXT


def test_what_a_crib_behind_this_one_says_is_taken_as_its_own_code() -> None:
    meta: JsonObject = {
        ERROR_META: {
            "code": SOURCE_UNAVAILABLE, "message": "away", "kind": "retryable",
            "details": {"retry_after_seconds": 1.5},
        }
    }  # fmt: skip
    verdict = classify(said("away", meta=meta), WRITE)
    assert (verdict.cause, verdict.effect, verdict.retry_after) == (Cause.NOT_SENT, NONE, 1.5)


@pytest.mark.parametrize(
    ("facts", "seconds"),
    [
        ({"retry_after": 3}, 3),
        ({"retryAfterMs": 250}, 0.25),
        ({"retry_after_ms": True}, None),
        ({"retry_after": -1}, None),
        ({"retry_after": "soon"}, None),
        ({"retry_after_seconds": 1e300}, 366 * 86_400),
    ],
)
def test_when_to_come_back_is_read_wherever_it_is_told(
    facts: JsonObject, seconds: float | None
) -> None:
    of_data = classify(said("busy", {"error": {"code": "busy", **facts}}), READ)
    of_rpc = classify(failed(TOOL_FAILED, jsonrpc_code=-32000, jsonrpc_data=facts), READ)
    assert of_data.retry_after == of_rpc.retry_after == seconds


def test_a_503_that_says_when_to_come_back_did_not_try() -> None:
    verdict = classify(failed(SOURCE_FAILED, AGAIN, http_status=503, retry_after_seconds=2), WRITE)
    assert (verdict.cause, verdict.effect, verdict.retry_after) == (Cause.RATE_LIMITED, NONE, 2)
    assert verdict.may_repeat(WRITE)


@pytest.mark.promise("field-o45-writes-once")
def test_a_write_whose_answer_was_lost_is_of_unknown_outcome() -> None:
    for lost in (
        failed(SOURCE_DISCONNECTED, AGAIN),
        failed(TOOL_TIMED_OUT, AGAIN),
        failed(SOURCE_FAILED, AGAIN, http_status=502),
        failed(UPSTREAM_PROTOCOL),
        failed(TOOL_FAILED, jsonrpc_code=-32603),
    ):
        told = told_honestly(lost, WRITE)
        assert told.error is not None
        assert lost.error is not None
        assert (told.status, told.error.code) == (Status.NEEDS_HUMAN, OUTCOME_UNKNOWN)
        assert told.error.details["cause"] == lost.error.code
        assert "look whether it took effect" in told.text
        assert told_honestly(told, WRITE).error is told.error
        assert told_honestly(lost, WRITE, has_key=True).status is not Status.NEEDS_HUMAN
        read = told_honestly(lost, READ)
        assert read.error is not None
        assert read.error.code == lost.error.code


def test_a_failure_that_a_tool_answered_stays_its_own() -> None:
    plain = said("it did not work")
    assert told_honestly(plain, WRITE) is plain
    busy = said("HTTP 503")
    assert told_honestly(busy, WRITE) is busy
    told = told_honestly(busy, READ)
    assert told.error is not None
    assert (told.status, told.content) == (Status.RETRYABLE_ERROR, busy.content)
    assert told.error.details["why"] == "source_fault"
    assert told_honestly(Result(), WRITE) == Result()


def test_a_tool_that_is_gone_is_told_as_such_whatever_code_its_source_uses() -> None:
    for lost in (gone(-32602), failed(TOOL_FAILED, jsonrpc_code=-32601)):
        told = told_honestly(lost, WRITE)
        assert told.error is not None
        assert (told.error.code, told.status) == (UNKNOWN_TOOL, Status.FATAL_ERROR)


def test_a_crib_does_not_tell_anybody_to_repeat_a_write_that_its_tool_answered() -> None:
    error: Json = {"code": "busy", "message": "later", "kind": "retryable"}
    told = told_honestly(said("later", {"error": {"code": "busy"}}, {ERROR_META: error}), WRITE)
    assert told.status is Status.FATAL_ERROR
    assert told.error is not None
    assert told.error.code == "busy"
