"""How the caller of one call can be asked something, and what a source may ask it.

A source asks for a form or a visit to a page (elicitation), for a model's answer (sampling) or for
the caller's folders (roots). A caller says what it can answer; nothing else is put to it. Older
callers are asked while the call runs; callers of 2026-07-28 get the question as the answer and call
again. Pure values; who asks is `ports.CallContext`, who answers is a surface.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import NEEDS_INPUT, ErrorKind, ToolError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from toolcrib_protocol.json_value import Json, JsonObject

ELICITATION: Final = "elicitation/create"
SAMPLING: Final = "sampling/createMessage"
ROOTS: Final = "roots/list"
ABILITIES: Final = {ELICITATION: "elicitation", SAMPLING: "sampling", ROOTS: "roots"}
"""The client capability that each kind of question needs."""
TASKS: Final = "io.modelcontextprotocol/tasks"
"""The extension whose tasks a caller may take in place of a result."""
ANSWER_SECONDS: Final = 600.0
"""How long a person may take to answer; the call's own time limit stands still meanwhile."""
_LONGEST_WORDS: Final = 300


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a source, as MCP writes it."""

    method: str
    params: JsonObject = field(default_factory=dict)

    @property
    def words(self) -> str:
        """What is asked, in the source's own words if it used any."""
        message = self.params.get("message")
        return (message if isinstance(message, str) else self.method)[:_LONGEST_WORDS]

    @property
    def no(self) -> JsonObject | None:
        """The answer that says no, for questions to which there is one."""
        return {"action": "decline"} if self.method == ELICITATION else None

    def lacking(self, abilities: JsonObject) -> str | None:
        """The ability that a caller with `abilities` lacks to answer; None if it can."""
        name = ABILITIES.get(self.method)
        if name is None:
            return self.method
        ability = abilities.get(name)
        if not isinstance(ability, dict):
            return name
        part = _part(self)
        # A caller that names no part of elicitation means the one that came first, forms.
        if part is None or part in ability or (part == "form" and "url" not in ability):
            return None
        return f"{name}.{part}"


def _part(question: Question) -> str | None:
    """The part of an ability that a question needs."""
    if question.method == ELICITATION:
        return "url" if question.params.get("mode") == "url" else "form"
    if question.method == SAMPLING and ("tools" in question.params):
        return "tools"
    return None


@dataclass(slots=True, eq=False)
class AnswerError(Exception):
    """The caller answered a question with a JSON-RPC error: its source has to know."""

    code: int
    message: str
    details: Json = None

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class Interaction:
    """How a caller can be asked.

    Attributes:
        abilities: the client capabilities it declared, of those that answer questions.
        ask: puts one question to it while the call runs, and raises `AnswerError` for its error
            and `ToolError` if it cannot be reached; None for a caller that gets the questions as
            the answer and calls again.
        responses: the answers it came back with, by the keys of the questions.
        state: what it was told to bring back with them.
        takes_tasks: whether it can be given a task in place of a result.
        why_not: why it cannot answer what it has no ability for.
        visited: tells it that a page which it was asked to visit (by its id) has done its work.
    """

    abilities: JsonObject = field(default_factory=dict)
    ask: Callable[[Question], Awaitable[JsonObject]] | None = None
    responses: JsonObject | None = None
    state: str | None = None
    takes_tasks: bool = False
    why_not: str = "this client did not declare that it can answer"
    visited: Callable[[str], Awaitable[None]] | None = None

    @property
    def offers(self) -> JsonObject:
        """The client capabilities that a source may count on in this call."""
        if not self.takes_tasks:
            return self.abilities
        return {**self.abilities, "extensions": {TASKS: {}}}


NOBODY: Final = Interaction(why_not="whoever made this call cannot be asked")
"""A caller that cannot be asked anything."""
IN_A_LIST: Final = Interaction(why_not="nobody can be asked within a list of calls")


def cannot_ask(tool: str, question: Question, caller: Interaction) -> ToolError:
    """Why a call ended: its source asked something that its caller cannot answer."""
    lacks = question.lacking(caller.abilities) or ABILITIES.get(question.method, question.method)
    return ToolError(
        NEEDS_INPUT,
        f"{tool} asks: {question.words!r}, which was declined: {caller.why_not} ({lacks}). Call "
        "it alone from a client that can answer, or with arguments that leave no question",
        ErrorKind.NEEDS_HUMAN,
        {"question": {"method": question.method, "params": question.params}, "lacks": lacks},
    )
