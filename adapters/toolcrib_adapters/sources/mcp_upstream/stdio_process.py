"""A stdio MCP server as a transport of the SDK: one process, its whole group, its lines.

Our own instead of the SDK's because of the end: every process of the group is ended, also children that outlive a
server which left by itself; standard error is drained and its tail kept; undecodable bytes are replaced, and a line that is no JSON-RPC
message is skipped instead of ending the connection.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

import anyio
import mcp_types as types
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from toolcrib_adapters.sources.mcp_upstream.stderr_tail import stderr_tail
from toolcrib_protocol.errors import SOURCE_UNAVAILABLE, ErrorKind, ToolError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from anyio.abc import ByteReceiveStream, ByteSendStream, Process
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from toolcrib_adapters.sources.mcp_upstream.spec import StdioSpec

_log = logging.getLogger(__name__)

_LEAVE_SECONDS: Final = 2.0
"""How long a server may take to leave by itself after its stdin was closed, and again after SIGTERM."""
_POLL_SECONDS: Final = 0.01
_LONGEST_LINE: Final = 64 * 1024 * 1024


@asynccontextmanager
async def stdio_process(
    spec: StdioSpec, on_stderr: Callable[[str], None]
) -> AsyncIterator[
    tuple[
        MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]
    ]
]:
    """The streams of a new server process; the whole group is gone when the block ends.

    Args:
        spec: expanded settings.
        on_stderr: told the tail of standard error at the end.

    Raises:
        ToolError: `source_unavailable` if the process cannot be started.
    """
    with stderr_tail() as tail:
        process = await _started(spec, tail.write_end)
        tail.close_write_end()
        incoming_send, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, outgoing_receive = anyio.create_memory_object_stream[SessionMessage](0)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(tail.drain)
                tasks.start_soon(_read_lines, process, incoming_send)
                tasks.start_soon(_write_lines, process, outgoing_receive, incoming_send)
                try:
                    yield incoming, outgoing
                finally:
                    with anyio.CancelScope(shield=True):
                        await _end(process)
                    tasks.cancel_scope.cancel()
        finally:
            for stream in (incoming_send, incoming, outgoing, outgoing_receive):
                stream.close()
            tail.read_available()
            on_stderr(tail.text)


async def _started(spec: StdioSpec, stderr: int) -> Process:
    try:
        return await anyio.open_process(
            [spec.command, *spec.args],
            env={**get_default_environment(), **spec.env},
            stderr=stderr,
            cwd=spec.cwd,
            start_new_session=sys.platform != "win32",
        )
    except FileNotFoundError as error:
        what = f"the folder {spec.cwd!r}" if spec.cwd and not os.path.isdir(spec.cwd) else f"the command {spec.command!r}"
        raise ToolError(
            SOURCE_UNAVAILABLE, f"{what} was not found; install it or give its full path",
            ErrorKind.RETRYABLE,
        ) from error
    except (OSError, ValueError) as error:
        raise ToolError(
            SOURCE_UNAVAILABLE, f"the command {spec.command!r} cannot be started: {error}",
            ErrorKind.RETRYABLE,
        ) from error


async def _read_lines(
    process: Process, incoming: MemoryObjectSendStream[SessionMessage | Exception]
) -> None:
    """Hand on each line that is a message; the stream ends when the server's stdout does."""
    assert process.stdout is not None  # noqa: S101 - opened with pipes
    with incoming, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async for line in _lines(process.stdout):
            try:
                message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                _log.debug("skipped a line on stdout that is no message: %.80r", line)
                continue
            await incoming.send(SessionMessage(message))


async def _lines(stream: ByteReceiveStream) -> AsyncIterator[str]:
    pieces: list[bytes] = []
    size = 0
    with suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        while True:
            *ended, rest = (await stream.receive()).split(b"\n")
            for line in ended:
                pieces.append(line)
                yield b"".join(pieces).decode(errors="replace")
                pieces, size = [], 0
            pieces.append(rest)
            size += len(rest)
            if size > _LONGEST_LINE:
                _log.warning("the server sent a line of over %d bytes; the connection ends", _LONGEST_LINE)
                return


async def _write_lines(
    process: Process,
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    assert process.stdin is not None  # noqa: S101 - opened with pipes
    try:
        async for message in outgoing:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            await process.stdin.send(text.encode(errors="replace") + b"\n")
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        # A server that closed its stdin hears nothing more: for callers the connection has ended.
        incoming.close()


async def _end(process: Process) -> None:
    """Close stdin and wait; then end the group, politely and at last by force, and wait for it."""
    await _close(process.stdin)
    await _left(process)
    for name in ("SIGTERM", "SIGKILL"):
        if not _signalled(process, name):
            break
        with anyio.move_on_after(_LEAVE_SECONDS):
            while _group_lives(process):
                await anyio.sleep(_POLL_SECONDS)
    await _close(process.stdout)
    with anyio.move_on_after(_LEAVE_SECONDS):
        await process.wait()


async def _left(process: Process) -> None:
    # Not `process.wait()`: it also waits for pipes that a grandchild may hold open.
    with anyio.move_on_after(_LEAVE_SECONDS):
        while process.returncode is None:
            await anyio.sleep(_POLL_SECONDS)


def _signalled(process: Process, name: str) -> bool:
    """Signal the group; False if nobody is left in it."""
    number = getattr(signal, name, signal.SIGTERM)
    try:
        if sys.platform == "win32":
            process.terminate()
        else:
            # The group has the leader's number, also after the leader has left.
            os.killpg(process.pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _group_lives(process: Process) -> bool:
    _ = process.returncode  # reaps the leader, which otherwise keeps the group alive as a zombie
    if sys.platform == "win32":
        return process.returncode is None
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


async def _close(stream: ByteSendStream | ByteReceiveStream | None) -> None:
    if stream is not None:
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await stream.aclose()
