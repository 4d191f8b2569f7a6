"""What a failed call means: why, what it did, whether it may be repeated, what to do.

Read in this order: the error codes that the tool's own contract declares; the codes of toolcrib
(how the transport ended, and what a crib behind this one says); the HTTP status; the JSON-RPC code;
a structured error in the answer; the words of the tool, last. Words and codes that nobody declared
never make a write repeatable. Pure; the path of a call asks, and nothing else decides this.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeGuard

from toolcrib_protocol.errors import (
    AT_CAPACITY,
    BREAKER_OPEN,
    INVALID_ARGUMENTS,
    NEEDS_INPUT,
    OUTCOME_UNKNOWN,
    SOURCE_UNAVAILABLE,
    TOOL_FAILED,
    UNKNOWN_TOOL,
    UPSTREAM_PROTOCOL,
    ErrorKind,
    ToolError,
)
from toolcrib_protocol.result import ERROR_META, Result
from toolcrib_registry import failure_tables as tables
from toolcrib_registry.failure_tables import Cause, Effect, Meaning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.tool import Contract, DeclaredError

_SERVER_FAULT: Final = 500
_CLIENT_FAULT: Final = 400
_UNAVAILABLE: Final = 503
_LONGEST_CODE: Final = 200
_LARGEST_CODE: Final = 10**9
_WHY: Final = "why"
_SECONDS_NAMES: Final = ("retry_after_seconds", "retry_after", "retryAfterSeconds", "retryAfter")
_MILLISECONDS_NAMES: Final = ("retry_after_ms", "retryAfterMs")
_LONGEST_WAIT_SECONDS: Final = 366 * 86_400.0
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BETWEEN: Final = re.compile(r"[\W_]+")


class Teller(StrEnum):
    """Which of the ways decided."""

    CONTRACT = "contract"
    TRANSPORT = "transport"
    HTTP = "http"
    JSON_RPC = "json-rpc"
    STRUCTURED = "structured error"
    TEXT = "text"


_OF_THE_WAY: Final = frozenset({Teller.TRANSPORT, Teller.HTTP, Teller.JSON_RPC})
"""Where the tool itself said nothing: an "internal error" of its server does not tell what ran."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a failure means.

    Attributes:
        kind: what the caller may do.
        cause: why it failed.
        effect: what it did.
        told_by: which of the ways to tell decided.
        retry_after: how many seconds the source asks to wait; None if it does not say.
        code: the code that decided, if one did.
    """

    kind: ErrorKind
    cause: Cause
    effect: Effect
    told_by: Teller
    retry_after: float | None = None
    code: str = ""

    @property
    def what_to_do(self) -> str:
        """A sentence for whoever reads the failure."""
        return tables.WHAT_TO_DO[self.cause]

    @property
    def lost_its_answer(self) -> bool:
        """Whether nobody can say what the call did."""
        return (
            self.effect is Effect.UNKNOWN
            and self.cause in tables.WITHOUT_ANSWER
            and self.told_by in _OF_THE_WAY
        )

    def may_repeat(self, contract: Contract, *, has_key: bool = False) -> bool:
        """Whether sending the same call again is harmless, and may help.

        Args:
            contract: of the tool.
            has_key: whether the call carries a key by which the tool knows it again.
        """
        if self.kind is not ErrorKind.RETRYABLE:
            return False
        return self.effect is Effect.NONE or contract.behaviour.may_repeat or has_key


def classify(failed: Result, contract: Contract) -> Verdict:
    """What a failed result of this tool means.

    Args:
        failed: a result with an error.
        contract: of the tool that was called.
    """
    error = failed.error or ToolError(TOOL_FAILED, failed.text)
    structured = _structured(failed, error)
    verdict = (
        _by_contract(error, structured, contract)
        or _never_left(error)
        or _by_http(error)
        or _by_jsonrpc(error)
        or _by_code(error)
        or _by_structure(structured)
        or _by_text(failed, error)
    )
    wait = _retry_after(error, structured)
    told = Verdict(verdict.kind, verdict.cause, verdict.effect, verdict.told_by, wait, verdict.code)
    if error.details.get("http_status") == _UNAVAILABLE and wait is not None:
        # It says when to come back, so it has not tried.
        return _verdict(tables.REFUSED_FOR_NOW, Teller.HTTP, str(_UNAVAILABLE), wait)
    return told


def told_honestly(result: Result, contract: Contract, *, has_key: bool = False) -> Result:
    """The result as its caller gets it; what failed says what it may have done."""
    if result.error is None:
        return result
    told = as_told(result.error, classify(result, contract), contract, has_key=has_key)
    if told is result.error:
        return result
    failed = Result.failed(told)
    is_ours = result.content == Result.failed(result.error).content
    content = failed.content if is_ours else result.content
    return replace(result, status=failed.status, error=told, content=content)


def as_told(error: ToolError, verdict: Verdict, contract: Contract, *, has_key: bool) -> ToolError:
    """The error as its caller gets it: honest about what the call may have done.

    Args:
        error: as the source or a stage of the path raised it.
        verdict: what it means.
        contract: of the tool.
        has_key: whether the call carried a key by which the tool knows it again.
    """
    if error.code == OUTCOME_UNKNOWN or _WHY in error.details:
        return error  # told before
    is_harmless = contract.behaviour.may_repeat or has_key or verdict.effect is not Effect.UNKNOWN
    if verdict.lost_its_answer and not is_harmless:
        return ToolError(
            OUTCOME_UNKNOWN,
            f"{error.message}. {contract.id} does not declare that repeating it is harmless: look "
            "whether it took effect before calling it again",
            ErrorKind.NEEDS_HUMAN,
            {**error.details, "cause": error.code},
        )
    code = UNKNOWN_TOOL if verdict.cause is Cause.TOOL_GONE and _is_vague(error) else error.code
    # Where the tool answered, its failure stays a failure: nobody is told to repeat a write.
    kind = verdict.kind
    if kind is ErrorKind.RETRYABLE and not is_harmless:
        kind = error.kind if error.kind is not ErrorKind.RETRYABLE else ErrorKind.FATAL
    if kind is error.kind and code == error.code == TOOL_FAILED:
        return error
    facts: JsonObject = {_WHY: verdict.cause.value, "what_to_do": verdict.what_to_do}
    if verdict.retry_after is not None:
        facts["retry_after_seconds"] = verdict.retry_after
    return ToolError(code, error.message, kind, {**facts, **error.details})


def _is_vague(error: ToolError) -> bool:
    """Whether a code says less than what is known: the JSON-RPC code was looked at."""
    return error.code in {INVALID_ARGUMENTS, TOOL_FAILED} and "jsonrpc_code" in error.details


def _verdict(meaning: Meaning, told_by: Teller, code: str, wait: float | None = None) -> Verdict:
    return Verdict(meaning.kind, meaning.cause, meaning.effect, told_by, wait, code)


def _by_contract(error: ToolError, structured: JsonObject, contract: Contract) -> Verdict | None:
    """What the tool's author declared about a code of this failure."""
    if not contract.errors:
        return None
    declared = {one.code: one for one in contract.errors}
    for code in _codes(error, structured):
        if code in declared:
            return _declared(declared[code], error, structured)
    return None


def _declared(declared: DeclaredError, error: ToolError, structured: JsonObject) -> Verdict:
    # "Retryable" is the author's word that repeating is safe; of the others nothing is repeated.
    is_safe = declared.kind is ErrorKind.RETRYABLE
    known = _by_http(error) or _by_jsonrpc(error) or _by_code(error) or _by_structure(structured)
    cause = Cause.TOOL_SAID if known is None else known.cause
    effect = Effect.NONE if is_safe else Effect.UNKNOWN
    return Verdict(declared.kind, cause, effect, Teller.CONTRACT, None, declared.code)


def _codes(error: ToolError, structured: JsonObject) -> Iterator[str]:
    if error.code != TOOL_FAILED:
        yield error.code
    for value in (
        structured.get("code"),
        error.details.get("jsonrpc_code"),
        error.details.get("http_status"),
    ):
        if isinstance(value, str) or _is_code(value):
            yield str(value)[:_LONGEST_CODE]


def _never_left(error: ToolError) -> Verdict | None:
    is_ours = error.code in {SOURCE_UNAVAILABLE, BREAKER_OPEN} or (
        error.code == AT_CAPACITY and "http_status" not in error.details
    )
    if not is_ours and error.details.get("sent") is not False:
        return None
    # What never left may still be in need of a person: credentials, settings.
    known = tables.BY_CODE.get(error.code, tables.BY_CODE[SOURCE_UNAVAILABLE])
    kind = error.kind if is_ours else known.kind
    return Verdict(kind, known.cause, Effect.NONE, Teller.TRANSPORT, None, error.code)


def _by_http(error: ToolError) -> Verdict | None:
    status = error.details.get("http_status")
    if not isinstance(status, int) or status < _CLIENT_FAULT:
        return None
    if error.details.get("jsonrpc_code") in tables.BY_JSONRPC_CODE and status < _SERVER_FAULT:
        # The server's own error is more exact than the status that carries it.
        return None
    other = tables.OTHER_FAULT if status >= _SERVER_FAULT else tables.OTHER_REFUSAL
    return _verdict(tables.BY_HTTP_STATUS.get(status, other), Teller.HTTP, str(status))


def _by_jsonrpc(error: ToolError) -> Verdict | None:
    code = error.details.get("jsonrpc_code")
    meaning = tables.BY_JSONRPC_CODE.get(code) if isinstance(code, int) else None
    if meaning is tables.REFUSED_ARGUMENTS and tables.UNKNOWN_TOOL_WORDS.search(error.message):
        # The specification has one code for both; neither did anything.
        meaning = tables.NO_SUCH_TOOL
    return None if meaning is None else _verdict(meaning, Teller.JSON_RPC, str(code))


def _by_code(error: ToolError) -> Verdict | None:
    meaning = tables.BY_CODE.get(error.code)
    if meaning is None:
        return None
    if error.code == UPSTREAM_PROTOCOL and "asked" in error.details:
        meaning = Meaning(Cause.ASKED, meaning.effect, meaning.kind)
    elif error.code == UPSTREAM_PROTOCOL and error.details.get("sent") is True:
        # An answer that could not be read is not the same as one that makes no sense: the next
        # one may be whole.
        meaning = Meaning(meaning.cause, meaning.effect, ErrorKind.RETRYABLE)
    kind = error.kind if error.code == NEEDS_INPUT else meaning.kind
    return Verdict(kind, meaning.cause, meaning.effect, Teller.TRANSPORT, None, error.code)


def _structured(failed: Result, error: ToolError) -> JsonObject:
    """The machine-readable error in an answer: `{code, ...}`; empty if there is none."""
    of_data = failed.data.get("error") if isinstance(failed.data, dict) else None
    for found in (failed.meta.get(ERROR_META), of_data, error.details.get("jsonrpc_data")):
        if isinstance(found, dict):
            return found
    return {"code": of_data} if isinstance(of_data, str) else {}


def _by_structure(structured: JsonObject) -> Verdict | None:
    code = structured.get("code", structured.get("type"))
    meaning: Meaning | None = None
    if isinstance(code, str):
        meaning = tables.BY_WORD.get(_word(code))
    elif _is_code(code):
        known = tables.BY_HTTP_STATUS.get(code) or tables.BY_JSONRPC_CODE.get(code)
        # A number inside an answer is the tool's word, and the tool ran.
        meaning = Meaning(known.cause, Effect.UNKNOWN, known.kind) if known else None
    if meaning is None and structured.get("retryable") is True:
        meaning = Meaning(Cause.TOOL_SAID, Effect.UNKNOWN, ErrorKind.RETRYABLE)
    told = code[:_LONGEST_CODE] if isinstance(code, str) else ""
    return None if meaning is None else _verdict(meaning, Teller.STRUCTURED, told)


def _is_code(value: Json) -> TypeGuard[int]:
    """Whether a value is a number such as codes are; others may have millions of digits."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST_CODE


def _word(code: str) -> str:
    """A code as one spelling: `RateLimited`, `rate-limited`, `ERR.RATE_LIMITED`."""
    word = _BETWEEN.sub("_", _CAMEL.sub("_", code[:_LONGEST_CODE])).strip("_").lower()
    return word.removeprefix("err_").removeprefix("error_").removesuffix("_error_code")


def _by_text(failed: Result, error: ToolError) -> Verdict:
    said = Meaning(tables.SAID.cause, tables.SAID.effect, error.kind)
    if error.code == TOOL_FAILED:
        text = (failed.text or error.message)[: tables.LONGEST_TEXT]
        said = next((told for pattern, told in tables.BY_TEXT if pattern.search(text)), said)
    return _verdict(said, Teller.TEXT, "")


def _retry_after(error: ToolError, structured: JsonObject) -> float | None:
    """How many seconds the source asks to wait, wherever it says so."""
    for facts in (error.details, structured):
        found = _seconds(facts, _SECONDS_NAMES, 1.0) or _seconds(facts, _MILLISECONDS_NAMES, 1e-3)
        if found is not None:
            return found
    return None


def _seconds(facts: JsonObject, names: tuple[str, ...], unit: float) -> float | None:
    for name in names:
        value: Json = facts.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
            return min(float(value) * unit, _LONGEST_WAIT_SECONDS)
    return None
