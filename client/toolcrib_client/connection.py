"""The connection to a crib: one open session at a time, opened again when it is lost.

A session is made of cancel scopes, which must be entered and left in one task; so each session has
an owner task, and whoever wants something sends through it from any task. Nothing is sent twice,
except what the sender says may be repeated, once. Knows requests and answers; what they mean is
`crib`'s business.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

import anyio
from mcp.shared.exceptions import MCPError

from toolcrib_client.failures import failure
from toolcrib_client.http_client import SESSION_OVER
from toolcrib_client.link import open_link
from toolcrib_client.wire_errors import Sent, is_closed
from toolcrib_protocol.errors import (
    INVALID_ARGUMENTS,
    SOURCE_DISCONNECTED,
    SOURCE_UNAVAILABLE,
    UPSTREAM_PROTOCOL,
    ErrorKind,
    ToolError,
)

if TYPE_CHECKING:
    from anyio.abc import TaskGroup, TaskStatus

    from toolcrib_client.link import Link, Mode, OnProgress
    from toolcrib_client.target import Target
    from toolcrib_protocol.json_value import JsonObject

logger = logging.getLogger(__name__)

CLOSE_SECONDS: Final = 10.0
"""How long the other side may take over a tidy end before it is cut."""


@dataclass(frozen=True, slots=True)
class Request:
    """Something to send.

    Attributes:
        method: the JSON-RPC method.
        params: its parameters.
        what: what it is, in words, for errors.
        timeout_seconds: how long to wait for the answer.
        may_repeat: whether sending it twice is harmless.
        on_progress: what to do with reports of progress.
    """

    method: str
    params: JsonObject
    what: str
    timeout_seconds: float
    may_repeat: bool = False
    on_progress: OnProgress | None = None


@dataclass(eq=False, slots=True)
class _Session:
    """An open link and the requests that are under way on it."""

    link: Link
    in_flight: int = 0
    is_lost: bool = False
    closing: anyio.Event = field(default_factory=anyio.Event)
    ended: anyio.Event = field(default_factory=anyio.Event)

    def lose(self) -> None:
        """Take no more requests; end when the last one that is under way has ended."""
        self.is_lost = True
        if self.in_flight == 0:
            self.closing.set()

    def begin(self) -> None:
        self.in_flight += 1

    def end(self) -> None:
        self.in_flight -= 1
        if self.is_lost:
            self.lose()


class Connection:
    """A connection to a crib; enter and leave it in the same task, use it from any."""

    def __init__(self, target: Target, mode: Mode, connect_timeout_seconds: float) -> None:
        self.target = target
        self._mode: Mode = mode
        self._connect_timeout_seconds = connect_timeout_seconds
        self._tasks: TaskGroup | None = None
        self._sessions: set[_Session] = set()
        self._current: _Session | None = None
        self._opening = anyio.Lock()

    async def __aenter__(self) -> Self:
        if self._tasks is not None:
            raise RuntimeError("this crib is entered already; make another one for another block")
        self._tasks = await anyio.create_task_group().__aenter__()
        try:
            await self._session()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_exception: object) -> None:
        if self._tasks is None:
            return
        tasks, self._tasks = self._tasks, None
        for session in self._sessions:
            session.closing.set()
        try:
            with anyio.move_on_after(CLOSE_SECONDS):
                for session in tuple(self._sessions):
                    await session.ended.wait()
        finally:
            tasks.cancel_scope.cancel()
            # Without the block's own exception: it must leave as it is, not inside a group.
            await tasks.__aexit__(None, None, None)

    @property
    def protocol_version(self) -> str:
        """The protocol revision of the newest session.

        Raises:
            RuntimeError: outside of the block.
        """
        if self._current is None:
            raise _not_entered()
        return self._current.link.protocol_version

    async def request(self, request: Request) -> JsonObject:
        """The answer to the request, as it came.

        Raises:
            ToolError: typed; `outcome_unknown` if a request that may not be repeated was sent and
                not answered.
            RuntimeError: outside of the block.
        """
        session = await self._session()
        try:
            return await self._sent(session, request)
        except ToolError as error:
            was_lost = session.is_lost or error.code == SOURCE_DISCONNECTED
            if not (request.may_repeat and was_lost):
                raise
        return await self._sent(await self._session(), request)

    async def _sent(self, session: _Session, request: Request) -> JsonObject:
        sent = Sent(self.target, request.what, request.may_repeat)
        _check_sendable(request)
        session.begin()
        try:
            with anyio.fail_after(request.timeout_seconds):
                return await session.link.request(
                    request.method, request.params, request.on_progress
                )
        except TimeoutError as error:
            raise sent.timed_out(request.timeout_seconds) from error
        except MCPError as error:
            failed = sent.failed(error)
            if _means_loss(error, failed):
                session.lose()
            raise failed from error
        finally:
            session.end()

    async def _session(self) -> _Session:
        """The session to use; a new one if there is none, or the last one was lost."""
        seconds = self._connect_timeout_seconds
        try:
            with anyio.fail_after(seconds):
                async with self._opening:
                    if self._tasks is None:
                        raise _not_entered()
                    if self._current is None or self._current.is_lost:
                        self._current = await self._opened(self._tasks)
                    return self._current
        except TimeoutError as error:
            raise self._unreachable(f"it gave no answer within {seconds:g} s") from error

    async def _opened(self, tasks: TaskGroup) -> _Session:
        try:
            session: _Session = await tasks.start(self._own)
        except (OSError, MCPError, ExceptionGroup, RuntimeError, ValueError) as error:
            # TimeoutError is an OSError, but this one is our own and is told by whoever set the
            # limit.
            if isinstance(error, TimeoutError):
                raise
            raise self._not_opened(error) from error
        return session

    async def _own(self, *, task_status: TaskStatus[_Session]) -> None:
        session: _Session | None = None
        try:
            async with open_link(self.target, self._mode) as link:
                session = _Session(link)
                self._sessions.add(session)
                task_status.started(session)
                await session.closing.wait()
        except Exception:
            if session is None:
                raise
            # The block of our user must not end because a session did: what is under way learns of
            # it by itself.
            logger.debug("the session with %s ended with an error", self.target, exc_info=True)
        finally:
            if session is not None:
                session.is_lost = True
                session.ended.set()
                self._sessions.discard(session)

    def _not_opened(self, error: BaseException) -> ToolError:
        cause = _innermost(error)
        if isinstance(cause, MCPError) and not is_closed(cause):
            return Sent(self.target, "the opening of a session", may_repeat=True).failed(cause)
        if isinstance(cause, MCPError):
            return self._unreachable(
                "it ended before it answered; what it wrote to its error output says why"
            )
        if isinstance(cause, FileNotFoundError):
            return self._unreachable(
                "the command was not found; is it installed (pip install "
                "'toolcrib[server]') and on the PATH?"
            )
        if isinstance(cause, OSError):
            return self._unreachable(cause.strerror or str(cause) or type(cause).__name__)
        reason = str(cause).partition("\n")[0]
        text = f"{self.target} does not speak MCP as this client knows it ({reason})"
        return failure(UPSTREAM_PROTOCOL, text)

    def _unreachable(self, reason: str) -> ToolError:
        text = f"{self.target} cannot be reached: {reason}"
        return failure(SOURCE_UNAVAILABLE, text, ErrorKind.RETRYABLE)


def _check_sendable(request: Request) -> None:
    # The SDK writes in a task of the session: what cannot be written would end it for everybody.
    try:
        json.dumps(request.params, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        text = f"{request.what} cannot be sent, because it is not JSON: {error}"
        raise failure(INVALID_ARGUMENTS, text) from error


def _means_loss(error: MCPError, failed: ToolError) -> bool:
    return is_closed(error) or SESSION_OVER in failed.details


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _not_entered() -> RuntimeError:
    return RuntimeError("this crib is not connected: use it inside `async with Crib(...) as crib:`")
