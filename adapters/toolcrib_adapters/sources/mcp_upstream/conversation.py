"""One call in flight at an upstream, and the questions it leads to.

A question goes to the caller of that call and to nobody else. One that it cannot answer is declined
at once, and the call ends soon after: it must not hang where nobody sees the question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_protocol.errors import NEEDS_INPUT, UPSTREAM_PROTOCOL, ErrorKind, ToolError
from toolcrib_registry.interaction import ANSWER_SECONDS, cannot_ask

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.interaction import Interaction, Question
    from toolcrib_registry.patience import Patience

MOST_QUESTIONS: Final = 32
"""How many questions of one call may be open."""
MOST_IN_ALL: Final = 64
"""How many questions one call may ask, one after the other: its time stands still meanwhile."""
DECLINED_SECONDS: Final = 0.5
"""How long a call whose question was declined may still take: some finish with less."""
_WITHDRAW_SECONDS: Final = 1.0
"""How long a caller may take to hear that its answer is not wanted any more."""


def too_many(tool: str) -> ToolError:
    """Why a call ended whose questions nobody could keep up with."""
    text = f"{tool} asks more than {MOST_QUESTIONS} questions at once"
    return ToolError(UPSTREAM_PROTOCOL, text, details={"asked": MOST_QUESTIONS})


def never_ends(tool: str, most: int) -> ToolError:
    """Why a call ended that asked on and on."""
    text = f"{tool} asked {most} times in one call and still has no result"
    return ToolError(UPSTREAM_PROTOCOL, text, details={"asked": most})


async def answered(
    tool: str, question: Question, caller: Interaction, patience: Patience
) -> JsonObject:
    """The caller's answer to a question.

    Raises:
        ToolError: `needs_input`: it cannot be asked, or did not answer in time.
        AnswerError: it answered with an error.
    """
    if caller.ask is None or question.lacking(caller.abilities) is not None:
        raise cannot_ask(tool, question, caller)
    with anyio.move_on_after(ANSWER_SECONDS), patience.standing_still():
        return await caller.ask(question)
    text = f"{tool} asks: {question.words!r}, and got no answer within {ANSWER_SECONDS:g} s"
    raise ToolError(NEEDS_INPUT, text, ErrorKind.NEEDS_HUMAN)


class Conversation:
    """A call in flight.

    Attributes:
        tool: its name.
        caller: whom its questions go to.
        refusal: why a question of it was declined, if one was.
    """

    def __init__(self, tool: str, caller: Interaction, patience: Patience) -> None:
        self.tool = tool
        self.refusal: ToolError | None = None
        self.caller = caller
        self._patience = patience
        self._request = anyio.CancelScope()
        self._asking: set[anyio.CancelScope] = set()
        self._asked = 0
        self._ended = anyio.Event()

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for an answer."""
        return bool(self._asking)

    async def carry(self, request: Awaitable[JsonObject]) -> JsonObject | None:
        """The raw answer of the request; None if it was given up after a question was declined.

        Questions that are still open when it ends are withdrawn.
        """
        try:
            with self._request:
                return await request
        finally:
            await self._withdraw()
        return None

    async def _withdraw(self) -> None:
        """End the questions that are still open, while the caller can still be told."""
        for scope in self._asking:
            scope.cancel()
        with anyio.move_on_after(_WITHDRAW_SECONDS, shield=True):
            while self._asking:
                await self._ended.wait()

    async def answer(self, question: Question) -> JsonObject | None:
        """The caller's answer; None if the question has to be declined.

        Raises:
            AnswerError: the caller answered with an error.
        """
        if len(self._asking) >= MOST_QUESTIONS:
            self.decline(too_many(self.tool))
            return None
        if self._asked >= MOST_IN_ALL:
            self.decline(never_ends(self.tool, MOST_IN_ALL))
            return None
        self._asked += 1
        try:
            with anyio.CancelScope() as scope:
                self._asking.add(scope)
                return await answered(self.tool, question, self.caller, self._patience)
        except ToolError as refusal:
            self.decline(refusal)
        finally:
            self._asking.discard(scope)
            ended, self._ended = self._ended, anyio.Event()
            ended.set()
        return None

    def decline(self, refusal: ToolError) -> None:
        """A question of this call was declined; the call ends soon."""
        self.refusal = self.refusal or refusal
        # Not later for each further question: a tool that asks on and on would never end.
        soon = anyio.current_time() + DECLINED_SECONDS
        self._request.deadline = min(self._request.deadline, soon)
