"""Failures of requests that call no tool, as JSON-RPC errors. Pure.

A source's own error passes as it is; only the code for a resource that is not there has changed
between the protocol revisions. Failures of tools are results and no matter of this file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolcrib_protocol.errors import NOT_OFFERED

if TYPE_CHECKING:
    from toolcrib_protocol.errors import ToolError

REFUSED: Final = 1
"""JSON-RPC code of a failure on the way; `data` is the error as JSON."""
_NOT_FOUND: Final = -32002
"""Of a resource, before revision 2026-07-28."""


def refusal(error: ToolError, version: str) -> MCPError:
    """The error for a caller that speaks `version`."""
    code = error.details.get("jsonrpc_code")
    if isinstance(code, int):
        if code == _NOT_FOUND and version in MODERN_PROTOCOL_VERSIONS:
            code = INVALID_PARAMS
        message = str(error.details.get("jsonrpc_message", error.message))
        return MCPError(code, message, error.details.get("jsonrpc_data"))
    if error.code == NOT_OFFERED:
        return MCPError(METHOD_NOT_FOUND, error.message)
    return MCPError(REFUSED, error.message, error.as_json())


def not_offered_here(method: str) -> MCPError:
    """The error where no source of the endpoint offers what is asked for."""
    return MCPError(METHOD_NOT_FOUND, f"no source of this endpoint answers {method}")


def no_such_resource(uri: str, text: str, version: str) -> MCPError:
    """The error for a URI that means no resource here, or several."""
    code = INVALID_PARAMS if version in MODERN_PROTOCOL_VERSIONS else _NOT_FOUND
    return MCPError(code, text, {"uri": uri})
