"""What an upstream answered to a call, as our `Result`.

Pure. Nothing is checked against the tool's schema here, and nothing is dropped.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import UPSTREAM_PROTOCOL, ToolError
from toolcrib_protocol.interim import INPUT_REQUIRED, TASK, InputRequired, StartedTask
from toolcrib_protocol.result import Result

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject

_UNKNOWN_TOOL: Final = re.compile(r"unknown tool|tool .{0,140}not found", re.IGNORECASE)
_LOOKED_AT: Final = 400
_LONGEST_KIND: Final = 40


def call_result(answer: JsonObject, tool: str, *, takes_tasks: bool = False) -> Result:
    """The result that an answer to `tools/call` carries.

    Args:
        answer: the raw result, of either generation.
        tool: how messages name the tool.
        takes_tasks: whether tasks were offered to be taken.

    Raises:
        ToolError: `upstream_protocol` if it is no result, or a kind of result that was not offered
            to be taken.
    """
    kind = answer.pop("resultType", "complete")
    if kind == TASK and takes_tasks and isinstance(answer.get("taskId"), str):
        return Result.started(StartedTask(answer))
    if kind != "complete":
        raise ToolError(
            UPSTREAM_PROTOCOL,
            f"{tool} answered with a result of the kind {str(kind)[:_LONGEST_KIND]!r}, which this "
            "crib did not offer to take",
        )
    return Result.from_mcp(answer)


def input_required(answer: JsonObject, tool: str) -> InputRequired | None:
    """What the tool wants first; None if the answer is not a question.

    Raises:
        ToolError: `upstream_protocol` if the question cannot be read.
    """
    if answer.get("resultType") != INPUT_REQUIRED:
        return None
    requests, state = answer.get("inputRequests", {}), answer.get("requestState")
    if not isinstance(requests, dict) or not (state is None or isinstance(state, str)):
        raise ToolError(UPSTREAM_PROTOCOL, f"{tool} asks something that cannot be read")
    if not requests and state is None:
        raise ToolError(UPSTREAM_PROTOCOL, f"{tool} wants an answer and asks nothing")
    return InputRequired(requests, state)


def refused_result(refusal: ToolError, answer: JsonObject | None) -> Result:
    """The end of a call whose question was declined; what it said all the same is kept."""
    failed = Result.failed(refusal)
    blocks = answer.get("content") if answer is not None else None
    kept = (
        [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    )
    return replace(failed, content=(*failed.content, *kept))


def says_unknown_tool(result: Result) -> bool:
    """Whether a failed result sounds as if the upstream does not have the tool (any more)."""
    return result.is_error and _UNKNOWN_TOOL.search(result.text[:_LOOKED_AT]) is not None
