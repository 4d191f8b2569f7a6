"""A stdio MCP server as a transport of the SDK: one process, its whole group, its lines.

Our own instead of the SDK's because of how it ends: every process of the group is ended, also
children that outlive a server which left by itself, and a server that died is noticed although a
child holds its pipes open. Standard error is drained and its tail kept, undecodable bytes are
replaced, and a line that is no message is passed over.
"""

from __future__ import annotations

import logging
import os
import sys
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

from toolcrib_adapters.sources.mcp_upstream.process_group import end, exited
from toolcrib_adapters.sources.mcp_upstream.stderr_tail import stderr_tail
from toolcrib_adapters.sources.mcp_upstream.stdio_messages import (
    LONGEST_LINE,
    line_of,
    message_of,
    unreadable_answer,
)
from toolcrib_protocol.errors import SOURCE_UNAVAILABLE, ErrorKind, ToolError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from anyio.abc import ByteReceiveStream, Process
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from toolcrib_adapters.processes.household import Household
    from toolcrib_adapters.processes.seats import Holder
    from toolcrib_adapters.sources.mcp_upstream.spec import StdioSpec
    from toolcrib_adapters.sources.mcp_upstream.stderr_tail import StderrTail

    Incoming = MemoryObjectSendStream[SessionMessage | Exception]
    Streams = tuple[
        MemoryObjectReceiveStream[SessionMessage | Exception],
        MemoryObjectSendStream[SessionMessage],
    ]

_log = logging.getLogger(__name__)

_LAST_WORDS_SECONDS: Final = 1.0
"""How long the last lines of a process that has ended are waited for."""
_LONGEST_UNENDED: Final = 2 * LONGEST_LINE
"""An answer that is too long fails its own call; a line that goes on and on ends the connection."""
_GONE: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError)


@dataclass(frozen=True, slots=True)
class ProcessTies:
    """What binds a server process to its crib.

    Attributes:
        source: whose process it is.
        household: where it is written down.
        holder: who gives up its seat.
        on_stderr: told the tail of standard error at the end.
    """

    source: str
    household: Household
    holder: Holder
    on_stderr: Callable[[str], None]


@asynccontextmanager
async def stdio_process(spec: StdioSpec, ties: ProcessTies) -> AsyncIterator[Streams]:
    """The streams of a new server process; the whole group is gone when the block ends.

    Args:
        spec: expanded settings.
        ties: to the crib.

    Raises:
        ToolError: `source_unavailable` if the process cannot be started, `at_capacity` if too many
            run.
    """
    async with ties.household.seats.seat(ties.holder):
        with stderr_tail() as tail:
            with anyio.CancelScope(shield=True):  # a process that nobody wrote down would stay
                process = await _started(spec, tail.write_end)
            with ties.household.kept(ties.source, process.pid):
                async with _streams(process, tail, ties) as streams:
                    yield streams


@asynccontextmanager
async def _streams(process: Process, tail: StderrTail, ties: ProcessTies) -> AsyncIterator[Streams]:
    """The streams of a process, which has ended with its group when the block ends."""
    tail.close_write_end()
    incoming_send, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, outgoing_receive = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(tail.drain)
            tasks.start_soon(_read, process, incoming_send, ties.household)
            tasks.start_soon(_write, process, outgoing_receive, incoming_send)
            try:
                yield incoming, outgoing
            finally:
                with anyio.CancelScope(shield=True):
                    await end(process)
                tasks.cancel_scope.cancel()
    finally:
        for stream in (incoming_send, incoming, outgoing, outgoing_receive):
            stream.close()
        tail.read_available()
        ties.on_stderr(tail.text)


async def _started(spec: StdioSpec, stderr: int) -> Process:
    try:
        return await anyio.open_process(
            [spec.command, *spec.args],
            env=spec.env,
            stderr=stderr,
            cwd=spec.cwd,
            start_new_session=sys.platform != "win32",
        )
    except FileNotFoundError as error:
        raise _not_started(
            f"{_missing(spec)} was not found; install it, or give its full path"
        ) from error
    except (OSError, ValueError) as error:
        raise _not_started(f"the command {spec.command!r} cannot be started: {error}") from error


def _missing(spec: StdioSpec) -> str:
    if spec.cwd is not None and not os.path.isdir(spec.cwd):  # noqa: PTH112 - a fact, not a path
        return f"the folder {spec.cwd!r}"
    return f"the command {spec.command!r}"


def _not_started(text: str) -> ToolError:
    return ToolError(SOURCE_UNAVAILABLE, text, ErrorKind.RETRYABLE)


async def _read(process: Process, incoming: Incoming, household: Household) -> None:
    """Hand on each message, until stdout or the process ends."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_end_with_process, process, tasks.cancel_scope)
        await _read_lines(process, incoming, household)
        tasks.cancel_scope.cancel()
    incoming.close()


async def _end_with_process(process: Process, reading: anyio.CancelScope) -> None:
    await exited(process)
    reading.deadline = anyio.current_time() + _LAST_WORDS_SECONDS


async def _read_lines(process: Process, incoming: Incoming, household: Household) -> None:
    if process.stdout is None:
        return
    is_first = True
    with suppress(*_GONE):
        async for message in _messages(process.stdout):
            if is_first:
                # It has started whatever it starts: a wrapper may leave before its children do.
                is_first = False
                household.note_members(process.pid)
            await incoming.send(SessionMessage(message))


def _without_end(size: int) -> ToolError:
    text = f"the connection ended: the server wrote {size:,} bytes without an end of line"
    return ToolError(SOURCE_UNAVAILABLE, text, ErrorKind.RETRYABLE)


async def _messages(stream: ByteReceiveStream) -> AsyncIterator[types.JSONRPCMessage]:
    """The messages in a stream of bytes.

    Raises:
        ToolError: `source_unavailable` if it is one line without end.
    """
    pieces: list[bytes] = []
    size = 0
    with suppress(anyio.EndOfStream, OSError):
        while True:
            *ended, rest = (await stream.receive()).split(b"\n")
            for line in ended:
                message = _message([*pieces, line], size + len(line))
                pieces, size = [], 0
                if message is not None:
                    yield message
            size += len(rest)
            if size > _LONGEST_UNENDED:
                raise _without_end(size)
            if size > LONGEST_LINE:
                # Only the ends of such a line are kept: they tell whose answer it is.
                del pieces[1:]
            if rest:
                pieces.append(rest)


def _message(pieces: list[bytes], size: int) -> types.JSONRPCMessage | None:
    if size > LONGEST_LINE:
        texts = [piece.decode(errors="replace") for piece in pieces]
        return unreadable_answer(texts, f"it is a line of {size:,} bytes")
    message = message_of(b"".join(pieces).decode(errors="replace"))
    if message is None and size:
        _log.debug("passed over a line of %d bytes that is no message", size)
    return message


async def _write(
    process: Process, outgoing: MemoryObjectReceiveStream[SessionMessage], incoming: Incoming
) -> None:
    if process.stdin is None:
        return
    try:
        async for sent in outgoing:
            try:
                line = line_of(sent.message)
            except ValueError as error:
                await _refuse(sent.message, error, incoming)
            else:
                await process.stdin.send(line)
    except (*_GONE, OSError):
        # A server that closed its stdin hears nothing more: for callers the connection has ended.
        incoming.close()


async def _refuse(message: types.JSONRPCMessage, error: ValueError, incoming: Incoming) -> None:
    if isinstance(message, types.JSONRPCRequest):
        told = types.ErrorData(
            code=types.INVALID_PARAMS, message=f"the call cannot be written as JSON: {error}"
        )
        answer = types.JSONRPCError(jsonrpc="2.0", id=message.id, error=told)
        await incoming.send(SessionMessage(answer))
