"""A call as it goes over the wire, and the results that come back. Pure; used by `Crib`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from toolcrib_client.failures import failure, with_typed_error
from toolcrib_protocol.errors import UPSTREAM_PROTOCOL, ErrorKind, ToolError
from toolcrib_protocol.result import ERROR_META, META_PREFIX, Result
from toolcrib_protocol.result_list import results_from_mcp

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolcrib_protocol.json_value import JsonObject

T = TypeVar("T")

MOST_CALLS_AT_ONCE: Final = 50
"""How many calls one request may carry."""
TIMEOUT_META: Final = f"{META_PREFIX}timeout_seconds"
WHOLE_META: Final = f"{META_PREFIX}whole_results"
"""Asks for results of any size: a program has room for them, a model has not."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of `Crib.call_many`.

    Attributes:
        name: a published name or a reference.
        arguments: for the tool.
        version: a range, for example `^2`; None for the newest.
        key: an idempotency key: the same call with the same key is carried out once.
    """

    name: str
    arguments: JsonObject | None = None
    version: str | None = None
    key: str | None = None

    def as_json(self) -> JsonObject:
        """The call as an entry of `call_tool`."""
        entry: JsonObject = {"name": self.name, "arguments": self.arguments or {}}
        more = {"version": self.version, "key": self.key}
        return {**entry, **{name: value for name, value in more.items() if value is not None}}


CallLike: TypeAlias = "Call | tuple[str, JsonObject]"


def as_call(given: CallLike) -> Call:
    """The call that `given` writes."""
    return given if isinstance(given, Call) else Call(*given)


def result_of(answer: JsonObject) -> Result:
    """The result that a `tools/call` answer carries, with a typed error; never raises."""
    kind = answer.get("resultType", "complete")
    if kind != "complete":
        text = (
            f"the tool wants an answer before it goes on ({kind}), and this client cannot ask "
            "anybody"
        )
        return Result.failed(failure(UPSTREAM_PROTOCOL, text, ErrorKind.NEEDS_HUMAN))
    try:
        return with_typed_error(Result.from_mcp(answer))
    except ToolError as error:
        return Result.failed(failure(error.code, error.message, error.kind))


def results_of(answer: JsonObject, calls: Sequence[Call]) -> list[Result]:
    """The results of a list of calls; a failure of the whole list is that of each call."""
    whole = result_of(answer)
    if whole.is_error and (ERROR_META in whole.meta or not whole.has_data):
        return [whole] * len(calls)
    try:
        results = results_from_mcp(answer)
    except ToolError as error:
        return [Result.failed(failure(error.code, error.message))] * len(calls)
    if len(results) != len(calls):
        text = f"{len(results)} results came back for {len(calls)} calls"
        return [Result.failed(failure(UPSTREAM_PROTOCOL, text))] * len(calls)
    return [with_typed_error(result) for result in results]


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The items, at most `size` at a time."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
