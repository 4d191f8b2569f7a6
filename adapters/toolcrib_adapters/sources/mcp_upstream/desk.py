"""Which call in flight a question of an upstream belongs to.

Over HTTP a question arrives on the stream of its call. A process has one stream for all, and
nothing in a question says whose it is: then it belongs to the one call that can have asked it. A
tool that has asked once is called one at a time from then on; tools that have ended without asking
go ahead beside it. Where several may have asked, the question is declined rather than shown to the
wrong person.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST, METHOD_NOT_FOUND

from toolcrib_protocol.errors import AT_CAPACITY, NEEDS_INPUT, ErrorKind, ToolError
from toolcrib_registry.interaction import AnswerError, Question

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from toolcrib_adapters.sources.mcp_upstream.conversation import Conversation
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.patience import Patience

_current: ContextVar[Conversation | None] = ContextVar("conversation", default=None)
_WAITING_SHARE: Final = 0.9
"""What part of its time a call may wait for its turn; with less left it would not be answered."""
_MOST_PAGES: Final = 1_000
_MOST_TOOLS: Final = 10_000


class Desk:
    """The calls in flight over one connection, and whose turn it is."""

    def __init__(self, source: str, *, is_shared: bool) -> None:
        """A desk without calls.

        Args:
            source: how messages name the upstream.
            is_shared: whether all questions arrive on one stream.
        """
        self._source = source
        self._is_shared = is_shared
        self._in_flight: list[Conversation] = []
        self._asking_tools: set[str] = set()
        self._silent_tools: set[str] = set()
        self._pages: OrderedDict[str, Callable[[str], Awaitable[None]]] = OrderedDict()
        # Not a lock: who asks is noted in another task than the one of the call.
        self._turn = anyio.Semaphore(1)
        self._turn_of: Conversation | None = None

    @asynccontextmanager
    async def call(self, conversation: Conversation, patience: Patience) -> AsyncIterator[None]:
        """The call is in flight while the block runs.

        Raises:
            ToolError: `at_capacity`: it was not its turn within its time; nothing was called.
        """
        if self._is_shared and conversation.tool in self._asking_tools:
            await self._take_turn(conversation, patience)
        self._in_flight.append(conversation)
        token = _current.set(conversation)
        try:
            yield
            self._note_silence(conversation)
        finally:
            _current.reset(token)
            self._in_flight.remove(conversation)
            if self._turn_of is conversation:
                self._turn_of = None
                self._turn.release()

    async def _take_turn(self, conversation: Conversation, patience: Patience) -> None:
        with anyio.move_on_after(patience.left * _WAITING_SHARE):
            await self._turn.acquire()
            self._turn_of = conversation
            return
        text = (
            f"another call of {self._source} is waiting for an answer of its caller, and "
            f"{conversation.tool!r} asks, too; nothing was called"
        )
        raise ToolError(AT_CAPACITY, text, ErrorKind.RETRYABLE)

    def _keep_turn(self, conversation: Conversation) -> None:
        """Whoever asks for the first time did not wait for a turn, but others wait for it now."""
        if self._is_shared and self._turn_of is None:
            with suppress(anyio.WouldBlock):
                self._turn.acquire_nowait()
                self._turn_of = conversation

    async def asked(self, method: str, params: JsonObject) -> JsonObject:
        """Answer a question of the upstream.

        Raises:
            MCPError: there is no answer.
        """
        question = Question(method, params)
        conversation = self._asker(question)
        if conversation is None:
            text = "toolcrib cannot tell which call asks this, so it asks nobody"
            return _no(question, INVALID_REQUEST, text)
        self._note_asking(conversation.tool)
        self._note_page(question, conversation)
        self._keep_turn(conversation)
        try:
            answer = await conversation.answer(question)
        except AnswerError as error:
            raise MCPError(error.code, error.message, error.details) from error
        if answer is None:
            return _no(question, METHOD_NOT_FOUND, f"nobody can be asked for {method}")
        return answer

    def _asker(self, question: Question) -> Conversation | None:
        conversation = _current.get()
        if conversation is not None and conversation in self._in_flight:
            return conversation
        able = self._in_flight
        if len(able) > 1:
            able = [one for one in able if one.tool not in self._silent_tools]
        if len(able) == 1:
            return able[0]
        # Who waits for an answer most likely does not ask, and its caller is thinking.
        for one in [one for one in able if not one.is_waiting] or able:
            self._note_asking(one.tool)
            one.decline(_unclear(self._source, one, question))
        return None

    def _note_page(self, question: Question, conversation: Conversation) -> None:
        page, visited = question.params.get("elicitationId"), conversation.caller.visited
        if isinstance(page, str) and visited is not None:
            self._pages[page] = visited
            if len(self._pages) > _MOST_PAGES:
                self._pages.popitem(last=False)

    async def visited(self, page: str) -> None:
        """A page that somebody was asked to visit has done its work: tell who was asked."""
        tell = self._pages.pop(page, None)
        if tell is not None:
            await tell(page)

    def _note_asking(self, tool: str) -> None:
        if len(self._asking_tools) < _MOST_TOOLS:
            self._asking_tools.add(tool)
        self._silent_tools.discard(tool)

    def _note_silence(self, conversation: Conversation) -> None:
        tool = conversation.tool
        if tool not in self._asking_tools and len(self._silent_tools) < _MOST_TOOLS:
            self._silent_tools.add(tool)


def _unclear(source: str, conversation: Conversation, question: Question) -> ToolError:
    return ToolError(
        NEEDS_INPUT,
        f"{source} asks {question.words!r} while several calls run, and does not say which one "
        f"asks; the question was declined. From now on {conversation.tool!r} is called one at a "
        "time: call it again if this call had no effect",
        ErrorKind.NEEDS_HUMAN,
        {"question": {"method": question.method, "params": question.params}},
    )


def _no(question: Question, code: int, text: str) -> JsonObject:
    """The answer that says no.

    Raises:
        MCPError: for a question to which there is none.
    """
    if question.no is None:
        raise MCPError(code, text)
    return question.no
