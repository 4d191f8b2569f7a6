"""JSON-RPC messages of the stateless HTTP wire, as plain values.

Pure. Each answer has a request of its own, so an answer to another one is a fault of the server:
handed on, it would show one caller what belongs to another.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.exceptions import MCPError
from pydantic_core import from_json

from toolcrib_adapters.sources.mcp_upstream.stdio_messages import rescued_value
from toolcrib_adapters.sources.mcp_upstream.surrogates import written

if TYPE_CHECKING:
    import mcp_types as types

    from toolcrib_protocol.json_value import Json, JsonObject

_WRITER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_REASON: Final = 200


class OddMessageError(Exception):
    """What came is no message that can be read."""


def written_request(request_id: types.RequestId, method: str, params: dict[str, Any]) -> bytes:
    """A request as JSON.

    Raises:
        ValueError: its parameters cannot be written.
        RecursionError: they are nested too deeply.
    """
    request = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
    try:
        return _WRITER.encode(request).encode()
    except UnicodeEncodeError:
        return written(request).encode()


def message_in(body: bytes) -> JsonObject:
    """The message that a body or an event writes.

    Raises:
        OddMessageError: it is none.
    """
    try:
        value = from_json(body)
    except ValueError:
        value = _rescued(body)
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise OddMessageError("it is no JSON-RPC message")
    return value


def _rescued(body: bytes) -> object:
    """The same for what pydantic's parser refuses and Python's reads: lone surrogates, depth.

    A list of tools must not be lost for one entry nested too deeply.
    """
    try:
        return rescued_value(body.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        reason = str(error).split("\n", 1)[0][:_REASON]
        raise OddMessageError(f"it is not JSON ({reason})") from error


def result_of(message: JsonObject, request_id: types.RequestId) -> dict[str, Any]:
    """The result in an answer.

    Raises:
        MCPError: the answer is an error.
        OddMessageError: it is no answer to this request.
    """
    error = error_of(message, request_id)
    if error is not None:
        raise error
    result = message.get("result")
    if not isinstance(result, dict) or not _is_same(message.get("id"), request_id):
        raise OddMessageError("it is no answer to the request")
    return result


def error_of(message: JsonObject, request_id: types.RequestId) -> MCPError | None:
    """The error in an answer; None if it holds none.

    Raises:
        OddMessageError: it is an error of another request.
    """
    error = message.get("error")
    if not isinstance(error, dict):
        return None
    code, text = error.get("code"), error.get("message")
    if not isinstance(code, int) or not isinstance(text, str):
        return None
    # A server that could not even read the request does not know its number.
    if message.get("id") is not None and not _is_same(message["id"], request_id):
        raise OddMessageError("it is an error of another request")
    return MCPError(code, text, error.get("data"))


def _is_same(given: Json, request_id: types.RequestId) -> bool:
    is_id = isinstance(given, int | str) and not isinstance(given, bool)
    return is_id and coerce_request_id(given) == coerce_request_id(request_id)  # type: ignore[arg-type]


def progress_in(
    params: JsonObject | None, token: types.RequestId
) -> tuple[float, float | None, str | None] | None:
    """How far the request with this token has come, if the notification says so."""
    if params is None or not _is_same(params.get("progressToken"), token):
        return None
    progress, total, message = (params.get(key) for key in ("progress", "total", "message"))
    if not _is_number(progress):
        return None
    return (
        float(progress),  # type: ignore[arg-type]
        float(total) if _is_number(total) else None,  # type: ignore[arg-type]
        message if isinstance(message, str) else None,
    )


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
