"""What an upstream answered to a call, as our `Result`.

Pure. Nothing is checked against the tool's schema here, and nothing is dropped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import UPSTREAM_PROTOCOL, ErrorKind, ToolError
from toolcrib_protocol.result import Result

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject

_UNKNOWN_TOOL: Final = re.compile(r"unknown tool|tool .{0,140}not found", re.IGNORECASE)
_LOOKED_AT: Final = 400
_LONGEST_KIND: Final = 40


def call_result(answer: JsonObject, tool: str) -> Result:
    """The result that an answer to `tools/call` carries.

    Args:
        answer: the raw result, of either generation.
        tool: how messages name the tool.

    Raises:
        ToolError: `upstream_protocol` if it is no result: a question back, or a kind of result that
            was not offered to be taken.
    """
    kind = answer.pop("resultType", "complete")
    if kind == "input_required":
        raise ToolError(
            UPSTREAM_PROTOCOL,
            f"{tool} asks a question back, which this crib cannot pass on; call it through a "
            "client that is connected to the server directly",
            ErrorKind.NEEDS_HUMAN,
        )
    if kind != "complete":
        raise ToolError(
            UPSTREAM_PROTOCOL,
            f"{tool} answered with a result of the kind {str(kind)[:_LONGEST_KIND]!r}, which this "
            "crib did not offer to take",
        )
    return Result.from_mcp(answer)


def says_unknown_tool(result: Result) -> bool:
    """Whether a failed result sounds as if the upstream does not have the tool (any more)."""
    return result.is_error and _UNKNOWN_TOOL.search(result.text[:_LOOKED_AT]) is not None
