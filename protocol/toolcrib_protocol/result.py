"""The result of a call: one envelope for Python and plans.

`status`, `data` (structured content), `error`, `content` (blocks) and `meta`. On the MCP wire the
source's blocks pass unchanged and our facts travel in `_meta`; `Result.from_mcp` and
`Result.as_mcp` are the only translation. A result of the wrong shape was still a result: nothing is
dropped here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.content import block_problem, text_block, text_of
from toolcrib_protocol.errors import (
    NEEDS_INPUT,
    TOOL_FAILED,
    UPSTREAM_PROTOCOL,
    ErrorKind,
    ToolError,
)

if TYPE_CHECKING:
    from toolcrib_protocol.interim import InputRequired, StartedTask
    from toolcrib_protocol.json_value import Json, JsonObject

META_PREFIX: Final = "io.toolcrib/"
"""Reverse-DNS prefix of the `_meta` keys that carry our facts."""
ERROR_META: Final = f"{META_PREFIX}error"
TOOL_META: Final = f"{META_PREFIX}tool"
"""`_meta` key that says which version of which tool answered."""
CALL_META: Final = f"{META_PREFIX}call"
"""`_meta` key that names the call; its record can be looked up by that."""
REPAIRS_META: Final = f"{META_PREFIX}repairs"
"""`_meta` key that lists what was repaired in the arguments, in phrases."""


class Status(StrEnum):
    """How a call ended."""

    SUCCESS = "success"
    RETRYABLE_ERROR = "retryable_error"
    FATAL_ERROR = "fatal_error"
    NEEDS_HUMAN = "needs_human"


_KINDS: Final = frozenset(ErrorKind)
_STATUS_OF: Final = {
    ErrorKind.RETRYABLE: Status.RETRYABLE_ERROR,
    ErrorKind.FATAL: Status.FATAL_ERROR,
    ErrorKind.NEEDS_HUMAN: Status.NEEDS_HUMAN,
}


@dataclass(frozen=True, slots=True)
class Result:
    """What a call brought back.

    Attributes:
        status: how it ended.
        data: structured content, or None where the tool gave none.
        error: the failure, present exactly when status is not success.
        content: blocks in the order the tool gave them.
        meta: `_meta` of the answer, the source's keys and ours (`io.toolcrib/...`).
        has_data: whether the tool gave structured content (it may be a JSON null).
        interim: what the tool wants first, or the task as which it goes on; None for the end.
    """

    status: Status = Status.SUCCESS
    data: Json = None
    error: ToolError | None = None
    content: tuple[JsonObject, ...] = ()
    meta: JsonObject = field(default_factory=dict)
    has_data: bool = False
    interim: InputRequired | StartedTask | None = None

    @property
    def is_error(self) -> bool:
        """Whether the call failed."""
        return self.error is not None

    @property
    def text(self) -> str:
        """The content as a person would read it."""
        return text_of(self.content)

    def unwrap(self) -> Json:
        """The structured data if there is any, else the text of the content.

        Raises:
            ToolError: the error of a failed call.
        """
        if self.error is not None:
            raise self.error
        return self.data if self.has_data else self.text

    @classmethod
    def failed(cls, error: ToolError, *, meta: JsonObject | None = None) -> Result:
        """A failure of ours: the message becomes the text that a model reads."""
        return cls(
            status=_STATUS_OF[error.kind],
            error=error,
            content=(text_block(error.message),),
            meta=meta or {},
        )

    @classmethod
    def asking(cls, tool: str, wanted: InputRequired) -> Result:
        """A question back: `needs_human` for whoever cannot take it as such."""
        text = f"{tool} needs an answer before it can go on: {wanted.words}"
        error = ToolError(NEEDS_INPUT, text, ErrorKind.NEEDS_HUMAN, {"asks": wanted.requests})
        return replace(cls.failed(error), interim=wanted)

    @classmethod
    def started(cls, task: StartedTask) -> Result:
        """A call that goes on as a task."""
        text = f"goes on as the task {task.facts.get('taskId')}"
        return cls(content=(text_block(text),), interim=task)

    @classmethod
    def from_mcp(cls, answer: JsonObject) -> Result:
        """The result that an MCP `tools/call` answer carries (any protocol revision).

        Raises:
            ToolError: `upstream_protocol` if the answer has no list of content blocks.
        """
        blocks = answer.get("content", [])
        if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
            raise ToolError(
                UPSTREAM_PROTOCOL, "the answer's content is not a list of content blocks"
            )
        meta = answer.get("_meta")
        content = tuple(block for block in blocks if isinstance(block, dict))
        facts = dict(meta) if isinstance(meta, dict) else {}
        error = _told_error(content, facts) if answer.get("isError") is True else None
        return cls(
            status=Status.SUCCESS if error is None else _STATUS_OF[error.kind],
            data=answer.get("structuredContent"),
            error=error,
            content=content,
            meta=facts,
            has_data="structuredContent" in answer,
        )

    def as_mcp(self) -> JsonObject:
        """The answer for the MCP wire: blocks unchanged, our error in `_meta`."""
        if self.interim is not None:
            interim = self.interim.as_mcp()
            return {**interim, "_meta": self.meta} if self.meta else interim
        answer: JsonObject = {"content": list(self.content)}
        if self.has_data:
            answer["structuredContent"] = self.data
        if self.error is not None:
            answer["isError"] = True
        meta = self.meta
        if self.error is not None and ERROR_META not in meta and not _is_plain_failure(self.error):
            meta = {**meta, ERROR_META: self.error.as_json()}
        if meta:
            answer["_meta"] = meta
        return answer

    def odd_blocks(self) -> list[str]:
        """What is unusual about the blocks (kept all the same), for logs."""
        return [problem for block in self.content if (problem := block_problem(block)) is not None]


def _is_plain_failure(error: ToolError) -> bool:
    """Whether `isError` and the text say all there is to say."""
    return error.code == TOOL_FAILED and error.kind is ErrorKind.FATAL and not error.details


def _told_error(content: tuple[JsonObject, ...], meta: JsonObject) -> ToolError:
    """The error an `isError` answer tells: ours if a crib sent it, else the tool's own words."""
    facts = meta.get(ERROR_META)
    if isinstance(facts, dict) and isinstance(facts.get("code"), str):
        kind, details = facts.get("kind"), facts.get("details")
        return ToolError(
            str(facts["code"]),
            str(facts.get("message") or text_of(content)),
            ErrorKind(kind) if isinstance(kind, str) and kind in _KINDS else ErrorKind.FATAL,
            details if isinstance(details, dict) else None,
        )
    # Text never makes a call repeatable: without a code the failure is fatal.
    return ToolError(TOOL_FAILED, text_of(content) or "the tool reported an error without text")
