"""Answers to a call that are not its end: a question back, or a task that goes on without us.

Both come from protocol revision 2026-07-28. A `Result` that carries one says so in `interim`; who
cannot take it reads the result as any other (`needs_human` for a question). Pure values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject

INPUT_REQUIRED: Final = "input_required"
TASK: Final = "task"
_LONGEST_WORDS: Final = 300


@dataclass(frozen=True, slots=True)
class InputRequired:
    """Questions that have to be answered before the call can go on.

    Attributes:
        requests: `{key: {"method": ..., "params": {...}}}`, as they were asked.
        state: what has to come back with the answers, or None.
    """

    requests: JsonObject
    state: str | None = None

    def as_mcp(self) -> JsonObject:
        """The `input_required` answer of `tools/call`."""
        answer: JsonObject = {"resultType": INPUT_REQUIRED}
        if self.requests:
            answer["inputRequests"] = self.requests
        return answer if self.state is None else {**answer, "requestState": self.state}

    @property
    def words(self) -> str:
        """The questions as a person would read them."""
        told = [_words(request) for request in self.requests.values()]
        return "; ".join(words for words in told if words) or "to be called again"


@dataclass(frozen=True, slots=True)
class StartedTask:
    """A call that goes on as a task: `taskId`, `status`, `createdAt` and so on."""

    facts: JsonObject

    def as_mcp(self) -> JsonObject:
        """The `task` answer of `tools/call`."""
        return {**self.facts, "resultType": TASK}


def _words(request: object) -> str:
    """What one request asks, in its own words if it has any."""
    if not isinstance(request, dict):
        return ""
    params = request.get("params")
    message = params.get("message") if isinstance(params, dict) else None
    words = message if isinstance(message, str) else str(request.get("method", ""))
    return words[:_LONGEST_WORDS]
