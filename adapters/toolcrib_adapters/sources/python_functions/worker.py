"""The program that runs the functions of one target, in a process of its own.

Started by `worker_process.py` with its settings as JSON in the first argument; speaks `frames` over
what were its standard streams, which functions cannot reach: what they print goes to the error
stream. One lane runs sync functions, one at a time in the main thread; the other runs async
functions together on one event loop.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_adapters.sources.python_functions.frames import (
    ASYNC_LANE,
    FrameError,
    FrameReader,
    packed,
)
from toolcrib_adapters.sources.python_functions.target import TargetError, load_target, place_of
from toolcrib_protocol.errors import TOOL_FAILED, UNKNOWN_TOOL, ToolError
from toolcrib_protocol.result import Result

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from toolcrib_adapters.sources.python_functions.target import Target
    from toolcrib_protocol.function_tool import FunctionTool
    from toolcrib_protocol.json_value import JsonObject

_CHUNK_BYTES: Final = 65_536
_STATM = Path("/proc/self/statm")


class Channel:
    """The two pipes to the crib."""

    def __init__(self, inbound: int, outbound: int) -> None:
        self._inbound = inbound
        self._outbound = outbound
        self._frames = FrameReader()

    @classmethod
    def take_standard_streams(cls) -> Channel:
        """The channel over the standard streams, which functions cannot reach afterwards."""
        inbound, outbound = os.dup(0), os.dup(1)
        nowhere = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nowhere, 0)
        os.close(nowhere)
        os.dup2(2, 1)
        return cls(inbound, outbound)

    def send(self, message: JsonObject) -> None:
        """Hand the crib one message.

        Raises:
            FrameError: it is too large.
            ValueError: it cannot be written as JSON.
        """
        rest = memoryview(packed(message))
        while rest:
            rest = rest[os.write(self._outbound, rest) :]

    def messages(self) -> Iterator[JsonObject]:
        """Messages until the crib closes the pipe; blocks."""
        while chunk := os.read(self._inbound, _CHUNK_BYTES):
            yield from self._frames.feed(chunk)

    async def next_messages(self) -> list[JsonObject] | None:
        """The messages that come next, None at the end; does not block the loop."""
        await anyio.wait_readable(self._inbound)
        chunk = os.read(self._inbound, _CHUNK_BYTES)
        return list(self._frames.feed(chunk)) if chunk else None

    def end_with_the_crib(self) -> None:
        """End this process and all it started when the crib is gone, whatever runs here then."""
        threading.Thread(target=self._watch, name="crib-watch", daemon=True).start()

    def _watch(self) -> None:
        poll = select.poll()
        # Nothing asked for: only the hang-up is reported, and the reader keeps its bytes.
        poll.register(self._inbound, 0)
        poll.poll()
        os.killpg(0, signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Desk:
    """Carries out calls of the loaded functions and answers them."""

    target: Target
    tools: dict[str, FunctionTool]
    channel: Channel

    def serve_sync(self) -> None:
        """One call at a time; no event loop runs, so a function may start its own."""
        for message in self.channel.messages():
            self._answer(message, self._sync_result(message))

    async def serve_async(self) -> None:
        """All calls together; a `cancel` ends one of them."""
        scopes: dict[object, anyio.CancelScope] = {}
        async with anyio.create_task_group() as tasks:
            while (messages := await self.channel.next_messages()) is not None:
                for message in messages:
                    key = message.get("id")
                    if message.get("op") == "call":
                        scopes[key] = anyio.CancelScope()
                        tasks.start_soon(self._serve_one, message, scopes)
                    elif key in scopes:
                        scopes[key].cancel()

    async def _serve_one(
        self, message: JsonObject, scopes: dict[object, anyio.CancelScope]
    ) -> None:
        key = message.get("id")
        # Nobody waits for the answer of a cancelled call, but the crib wants to know that it ended.
        result = Result()
        with scopes[key]:
            result = await self._async_result(message)
        del scopes[key]
        self._answer(message, result)

    def _sync_result(self, message: JsonObject) -> Result:
        try:
            tool, arguments = self._prepared(message)
            return tool.schema.result(self._called(tool, arguments))
        except ToolError as error:
            return Result.failed(error)

    async def _async_result(self, message: JsonObject) -> Result:
        try:
            tool, arguments = self._prepared(message)
            return tool.schema.result(await self._awaited(tool, arguments))
        except ToolError as error:
            return Result.failed(error)

    def _prepared(self, message: JsonObject) -> tuple[FunctionTool, dict[str, object]]:
        name, arguments = message.get("name"), message.get("arguments")
        tool = self.tools.get(str(name))
        if tool is None:
            raise ToolError(UNKNOWN_TOOL, f"the target has no tool {name!r}")
        return tool, tool.schema.arguments(arguments if isinstance(arguments, dict) else {})

    def _called(self, tool: FunctionTool, arguments: dict[str, object]) -> object:
        try:
            return tool.function(**arguments)
        except (Exception, SystemExit) as error:
            raise self._told(tool, error) from error

    async def _awaited(self, tool: FunctionTool, arguments: dict[str, object]) -> object:
        function: Callable[..., Awaitable[object]] = tool.function  # type: ignore[assignment]
        try:
            return await function(**arguments)
        except (Exception, SystemExit) as error:
            raise self._told(tool, error) from error

    def _told(self, tool: FunctionTool, error: BaseException) -> ToolError:
        told = tool.error(error)
        place = "" if isinstance(error, ToolError) else place_of(error, self.target.root)
        return ToolError(told.code, f"{told.message} ({place})", told.kind) if place else told

    def _answer(self, message: JsonObject, result: Result) -> None:
        answer: JsonObject = {
            "op": "answer",
            "id": message.get("id"),
            "memory_bytes": _memory_bytes(),
        }
        try:
            self.channel.send({**answer, "result": result.as_mcp()})
        except (FrameError, TypeError, ValueError, RecursionError) as error:
            problem = ToolError(TOOL_FAILED, f"the function's result cannot be sent: {error}")
            self.channel.send({**answer, "result": Result.failed(problem).as_mcp()})


def _memory_bytes() -> int:
    """What the process holds now (Linux), or the most it ever held (elsewhere)."""
    if _STATM.exists():
        return int(_STATM.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _limit_memory(limit_bytes: int) -> None:
    # RLIMIT_DATA counts what is really allocated; RLIMIT_AS would also count address space that
    # libraries only reserve, and stop them at a fraction of the limit.
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    allowed = limit_bytes if hard == resource.RLIM_INFINITY else min(limit_bytes, hard)
    # A system that knows the limit but not how to hold it may refuse.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (allowed, hard))


def main() -> None:
    """Load the target, tell the crib what it offers, serve calls until the crib is gone."""
    settings = json.loads(sys.argv[1])
    channel = Channel.take_standard_streams()
    channel.end_with_the_crib()
    _limit_memory(settings["memory_bytes"])
    try:
        target = load_target(settings["target"], settings["group"])
    except TargetError as error:
        channel.send({"op": "failed", "reason": str(error)})
        return
    tools = {tool.contract.name: tool for tool in reversed(target.tools)}
    channel.send(
        {
            "op": "loaded",
            "tools": [
                {"contract": tool.contract.as_json(), "is_async": tool.is_async}
                for tool in target.tools
            ],
            "refused": [[name, reason] for name, reason in target.refused.items()],
            "files": [*target.own_files()],
            "description": target.description,
        }
    )
    desk = Desk(target, tools, channel)
    if settings["lane"] == ASYNC_LANE:
        anyio.run(desk.serve_async)
    else:
        desk.serve_sync()


if __name__ == "__main__":
    main()
