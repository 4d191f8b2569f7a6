"""What a proxy makes of an upstream's answer: the faults that lie in what is said.

Pure: an answer in, another answer out. Faults of the connection are the proxies' own.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

Json = dict[str, Any]
NO_METHOD: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL: Final = -32603


def with_fault(way: str, fault: Json, request: Json, reply: Json | None) -> Json | None:
    """The answer that this fault gives to the request; None if it is no fault of answers."""
    if way in _REFUSALS:
        return {"jsonrpc": "2.0", "id": request["id"], **_REFUSALS[way](fault, request)}
    if way in _CHANGES and reply is not None and "result" in reply:
        return {**reply, "result": _CHANGES[way](reply["result"])}
    return None


def acts(way: str, moment: str) -> bool:
    """Whether the upstream is asked at all under this fault."""
    return way in _CHANGES or way in {"slow", ""} or (way not in _NEVER_ACT and moment == "after")


_NEVER_ACT: Final = frozenset({"rate_limited", "signed_out", "unknown_tool", "no_method"})


def _rate_limited(fault: Json, _request: Json) -> Json:
    return _own_error("rate_limited", {"retry_after_seconds": fault["seconds"]})


def _signed_out(_fault: Json, _request: Json) -> Json:
    return _own_error("signed_out", {})


def _own_error(code: str, more: Json) -> Json:
    """An error in the tool's own words, with a code that its contract declares."""
    error = {"code": code, "message": code.replace("_", " "), **more}
    block = {"type": "text", "text": f"{code}: {error['message']}"}
    return {
        "result": {
            "content": [block],
            "structuredContent": {"error": error},
            "isError": True,
            "resultType": "complete",
        }
    }


def _unknown_tool(_fault: Json, request: Json) -> Json:
    name = request["params"]["name"]
    return {"error": {"code": INVALID_PARAMS, "message": f"Unknown tool: {name}"}}


def _no_method(_fault: Json, _request: Json) -> Json:
    return {"error": {"code": NO_METHOD, "message": "Method not found"}}


def _internal(_fault: Json, _request: Json) -> Json:
    return {"error": {"code": INTERNAL, "message": "Internal error"}}


_REFUSALS: Final[dict[str, Callable[[Json, Json], Json]]] = {
    "rate_limited": _rate_limited,
    "signed_out": _signed_out,
    "unknown_tool": _unknown_tool,
    "no_method": _no_method,
    **dict.fromkeys(("error_500", "error_502", "error_503", "error_504"), _internal),
}
"""Over HTTP the statuses 401, 429 and 5xx say these; see `http_proxy`."""


def _as_text(result: Json) -> Json:
    """The answer only as JSON text, without structured content."""
    return {key: value for key, value in result.items() if key != "structuredContent"}


def _wrapped_result(result: Json) -> Json:
    return _with_value(result, {"result": result["structuredContent"]})


def _lost_key(result: Json) -> Json:
    value = {k: v for k, v in result["structuredContent"].items() if k != "confirmation"}
    return _with_value(result, value)


def _other_type(result: Json) -> Json:
    return _with_value(result, {**result["structuredContent"], "total": "unknown"})


def _wrong_value(result: Json) -> Json:
    value = result["structuredContent"]
    return _with_value(result, {**value, "total": value["total"] + 1})


def _with_value(result: Json, value: Json) -> Json:
    block = {"type": "text", "text": json.dumps(value)}
    return {**result, "structuredContent": value, "content": [block]}


_CHANGES: Final[dict[str, Callable[[Json], Json]]] = {
    "as_text": _as_text,
    "wrapped_result": _wrapped_result,
    "lost_key": _lost_key,
    "other_type": _other_type,
    "wrong_value": _wrong_value,
}
