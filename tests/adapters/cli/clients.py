"""Client programs that start `toolcrib serve --stdio`, as real processes."""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.abc

from tests.adapters.cli.running import COMMAND, Shell
from toolcrib_adapters.surfaces.standard_streams import lines_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from toolcrib_protocol.json_value import JsonObject

MOST_SECONDS = 90


TOOLS: Final = '''
import os, time
from pathlib import Path
from toolcrib_protocol.function_tool import tool

@tool(read_only=True)
def where() -> str:
    """Which process runs this, where, and what it was told."""
    return f"{os.getppid()} {os.getcwd()}"

@tool(read_only=True)
def repeat(text: str) -> str:
    """Give a text back.

    Args:
        text: the text.
    """
    return text

@tool(destructive=True)
def write_line(path: str, until: str = "") -> str:
    """Write a line into a file, then wait.

    Args:
        path: the file.
        until: a file to wait for.
    """
    with Path(path).open("a") as file:
        file.write("line\\n")
    while until and not Path(until).exists():
        time.sleep(0.02)
    return "written"
'''


@dataclass(eq=False)
class Client:
    """A client program with the process that it started."""

    process: anyio.abc.Process
    lines: AsyncIterator[bytes]
    seen: list[JsonObject] = field(default_factory=list)
    number: int = 0

    async def send(self, message: JsonObject) -> None:
        assert self.process.stdin is not None
        await self.process.stdin.send(json.dumps(message).encode() + b"\n")

    async def ask(self, method: str, params: JsonObject | None = None) -> Any:
        """The whole answer to a request; what comes before it is kept in `seen`."""
        self.number += 1
        await self.send(
            {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params or {}}
        )
        return await self.answer(self.number)

    async def answer(self, number: int) -> Any:
        return await self.until(lambda message: message.get("id") == number)

    async def until(self, fits: Any) -> Any:
        with anyio.fail_after(MOST_SECONDS):
            async for line in self.lines:
                message = json.loads(line)
                self.seen.append(message)
                if fits(message):
                    return message
        raise AssertionError(f"the stream ended; seen: {self.seen}")

    async def shake_hands(self) -> Any:
        facts: JsonObject = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        answer = await self.ask("initialize", facts)
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    async def call(self, tool: str, **arguments: Any) -> Any:
        return await self.ask("tools/call", {"name": tool, "arguments": arguments})

    async def crib(self) -> int:
        """The process of the crib that this client talks to."""
        answer = await self.call("t__where")
        return int(answer["result"]["structuredContent"]["result"].split()[0])

    async def leave(self) -> int:
        assert self.process.stdin is not None
        await self.process.stdin.aclose()
        with anyio.fail_after(MOST_SECONDS):
            return await self.process.wait()

    async def told(self) -> str:
        """What it said on standard error; it must have ended."""
        assert self.process.stderr is not None
        return b"".join([chunk async for chunk in self.process.stderr]).decode()


@asynccontextmanager
async def client(
    shell: Shell, *words: str, cwd: Path | None = None, **environment: str
) -> AsyncIterator[Client]:
    command = [*COMMAND, "serve", "--stdio", *words]
    async with await anyio.open_process(
        command, env={**shell.environment, **environment}, cwd=cwd
    ) as process:
        assert process.stdout is not None
        stdout = process.stdout

        async def receive() -> bytes:
            try:
                return await stdout.receive()
            except anyio.EndOfStream:
                return b""

        try:
            yield Client(process, lines_of(receive))
        finally:
            if process.returncode is None:
                process.kill()


@asynccontextmanager
async def started_in_turn(
    *clients: AbstractAsyncContextManager[Client],
) -> AsyncIterator[list[Client]]:
    """Clients that have shaken hands, each before the next one starts."""
    async with AsyncExitStack() as stack:
        members = []
        for each in clients:
            members.append(await stack.enter_async_context(each))
            await members[-1].shake_hands()
        yield members


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


async def ended(pid: int) -> None:
    with anyio.fail_after(MOST_SECONDS):
        while is_alive(pid):  # noqa: ASYNC110 - another process ends
            await anyio.sleep(0.02)


async def made(path: Path) -> None:
    with anyio.fail_after(MOST_SECONDS):
        while not path.exists():  # noqa: ASYNC110 - made by another process
            await anyio.sleep(0.02)


def owner(shell: Shell) -> int:
    return int(json.loads((shell.home / "crib.lock").read_text())["pid"])


def socket_of(shell: Shell) -> Path:
    """Where the crib listens, or listened."""
    return Path(json.loads((shell.home / "crib.lock").read_text())["socket"])
