"""The two forms of `call_tool` and the direct call, between the wire and the one path of calls.

Reads what a caller wants, runs it through `Calls`, writes the answer. Knows nothing about
transports.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from toolcrib_adapters.surfaces.meta_tools import CALL_TOOL, META_TOOLS
from toolcrib_protocol.call_meta import FRESH_META, KEY_META
from toolcrib_protocol.errors import INVALID_ARGUMENTS, ToolError
from toolcrib_protocol.result import META_PREFIX
from toolcrib_protocol.result_list import results_as_mcp
from toolcrib_registry.call import Call

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.calls import Calls
    from toolcrib_registry.permissions import Caller
    from toolcrib_registry.ports import Progress

# What may travel on to a source: the trace, and nothing that a client put there for us.
_TRACE_KEYS: Final = ("traceparent", "tracestate", "baggage")
TIMEOUT_META: Final = f"{META_PREFIX}timeout_seconds"
"""`_meta` key by which a caller sets its own limit."""
WHOLE_META: Final = f"{META_PREFIX}whole_results"
"""`_meta` key by which a program, never a model, asks for results of any size."""
KEY_HEADER: Final = "idempotency-key"
"""The HTTP header that says what `KEY_META` says."""


def direct_call(
    name: str,
    arguments: Json,
    caller: Caller,
    meta: Mapping[str, object],
    report_progress: Callable[[Progress], Awaitable[None]] | None,
) -> Call:
    """The call of a tool by its own name."""
    return Call(
        name,
        arguments,
        caller=caller,
        timeout_seconds=_seconds(meta.get(TIMEOUT_META)),
        report_progress=report_progress,
        meta=forwarded_meta(meta),
        takes_whole=meta.get(WHOLE_META) is True,
        key=_key(meta.get(KEY_META)),
        is_fresh=meta.get(FRESH_META) is True,
    )


def _seconds(told: object) -> float | None:
    """The time limit of a request; no number, so that it is refused, for what is none."""
    if told is None:
        return None
    if isinstance(told, bool) or not isinstance(told, int | float):
        return math.nan
    return told


def _key(told: object) -> str | None:
    """The key of a request; empty, so that it is refused, for what is no text."""
    if told is None:
        return None
    is_written = isinstance(told, str | int) and not isinstance(told, bool)
    return str(told) if is_written else ""


def with_headers(call: Call, headers: Mapping[str, str]) -> Call:
    """The call with the headers of its request, and the key that one of them may bring."""
    key = headers.get(KEY_HEADER)
    if call.key is None and key is not None:
        # The draft for this header writes a string in quotes; many clients write it without.
        is_quoted = len(key) > 1 and key[0] == key[-1] == '"'
        call = replace(call, key=key[1:-1] if is_quoted else key)
    return replace(call, caller_headers=headers)


def forwarded_meta(meta: Mapping[str, object]) -> JsonObject:
    """What of a caller's `_meta` may travel on to a source."""
    return {key: value for key in _TRACE_KEYS if isinstance(value := meta.get(key), str)}


async def call_tool(calls: Calls, wish: JsonObject, asked: Call) -> JsonObject:
    """The answer of `call_tool` for arguments that fit its schema.

    Args:
        calls: the path of calls.
        wish: the arguments of `call_tool`.
        asked: the call of `call_tool` itself; its caller, trace and progress are those of each
            call.

    Raises:
        ToolError: `invalid_arguments` if it is neither one call nor a list of calls.
    """
    listed = wish.get("calls")
    if isinstance(listed, list) and "name" not in wish:
        entries = [entry for entry in listed if isinstance(entry, dict)]
        # Progress of several calls under one token would run backwards, so lists report none.
        keyed = [_numbered(asked, number) for number in range(len(entries))]
        made = [
            _one(entry, one, report_progress=None)
            for entry, one in zip(entries, keyed, strict=True)
        ]
        return results_as_mcp([call.tool for call in made], await calls.call_many(made))
    if listed is not None or "name" not in wish:
        raise ToolError(
            INVALID_ARGUMENTS,
            f"{CALL_TOOL} takes either `name` (with `arguments`) or `calls`, a list of "
            '{"name": ..., "arguments": {...}}; nothing was called',
        )
    result = await calls.call(_one(wish, asked, report_progress=asked.report_progress))
    return result.as_mcp()


def _numbered(asked: Call, number: int) -> Call:
    """The request for one of its calls: a key of the whole list is a key of each place in it."""
    return asked if asked.key is None else replace(asked, key=f"{asked.key}#{number}")


def _one(
    entry: JsonObject,
    asked: Call,
    report_progress: Callable[[Progress], Awaitable[None]] | None,
) -> Call:
    name, version, key = str(entry["name"]), entry.get("version"), entry.get("key")
    if name in META_TOOLS:
        raise ToolError(
            INVALID_ARGUMENTS,
            f"{name} is a tool of its own: call it directly, not through {CALL_TOOL}",
        )
    return Call(
        name,
        entry.get("arguments"),
        version=version if isinstance(version, str) else None,
        caller=asked.caller,
        timeout_seconds=asked.timeout_seconds,
        report_progress=report_progress,
        meta=asked.meta,
        log=asked.log,
        caller_headers=asked.caller_headers,
        view=asked.view,
        interaction=asked.interaction,
        takes_whole=asked.takes_whole,
        key=key if isinstance(key, str) else asked.key,
        session=asked.session,
        is_fresh=asked.is_fresh,
    )
