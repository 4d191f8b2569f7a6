"""What `toolcrib demo` shows: the real commands, a real endpoint, and questions asked through it.

Everything that is printed comes from the servers and commands that ran. Loaded by `demo` alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio
import platformdirs
from anyio.streams.text import TextReceiveStream

from toolcrib_adapters.extras import load
from toolcrib_adapters.main import open_store
from toolcrib_adapters.settings import CribSettings
from toolcrib_adapters.surfaces.cli import demo_tools
from toolcrib_adapters.surfaces.cli.demo_servers import DemoFolder, prepare
from toolcrib_adapters.surfaces.cli.output import short
from toolcrib_protocol.budget import estimate_tokens
from toolcrib_protocol.errors import SOURCE_UNAVAILABLE, ToolError
from toolcrib_protocol.json_value import dump_json
from toolcrib_registry.ports import SourceStatus

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from toolcrib_adapters.surfaces.cli.output import Output
    from toolcrib_adapters.surfaces.cli.session import Session
    from toolcrib_client import Crib
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.result import Result
    from toolcrib_registry.records import VersionRecord

_LONGEST_START_SECONDS: Final = 120.0
_LONGEST_STOP_SECONDS: Final = 20.0
_LOOK_SECONDS: Final = 0.2
_SHOWN_HITS: Final = 3
_SHOWN_LENGTH: Final = 160
_COMMAND: Final = (sys.executable, "-c", "from toolcrib_adapters.command import main; main()")

_AT_ONCE: Final = (
    "time/convert_time",
    "git/git_status",
    "memory/read_graph",
    "demo/zodiac_animal",
    "demo/ancient_hour",
)


async def demonstrate(session: Session, root: Path | None, *, offline: bool) -> bool:
    """Run the demo; whether everything that was called answered.

    Raises:
        ToolError: the endpoint does not come up.
    """
    folder = DemoFolder((root or platformdirs.user_cache_path("toolcrib") / "demo").absolute())
    output = session.output
    has_servers = await prepare(folder, output.note, offline=offline)
    await _register(folder, output, has_servers=has_servers)
    async with _endpoint(folder) as url:
        output.line(f"\n$ toolcrib serve\n{url}")
        async with load("client")(url) as crib:
            await _ready(folder)
            await _tell_tokens(folder, crib, output)
            return await _Conversation(crib, folder, output).held()


async def _register(folder: DemoFolder, output: Output, *, has_servers: bool) -> None:
    if has_servers:
        output.line(f"$ toolcrib import {folder.config}", style="bold")
        await _toolcrib(folder, output, "import", str(folder.config), "--replace")
    tools = str(demo_tools.__file__)
    output.line("\n$ toolcrib add demo --python demo_tools.py", style="bold")
    await _toolcrib(folder, output, "add", "demo", "--python", tools, "--replace")


async def _toolcrib(folder: DemoFolder, output: Output, *words: str) -> None:
    done = await anyio.run_process(
        [*_COMMAND, *words], check=False, env=_environment(folder), stdin=subprocess.DEVNULL
    )
    for text in (done.stdout, done.stderr):
        if told := text.decode("utf-8", "replace").rstrip():
            output.line(told)


def _environment(folder: DemoFolder) -> Mapping[str, str]:
    """This process's, but with the demo's own crib."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("TOOLCRIB_")}
    return {**kept, "TOOLCRIB_HOME": str(folder.home), "COLUMNS": "100"}


@asynccontextmanager
async def _endpoint(folder: DemoFolder) -> AsyncIterator[str]:
    """The URL of `toolcrib serve` in a process of its own."""
    command = [*_COMMAND, "serve", "--port", "0"]
    process = await anyio.open_process(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=_environment(folder)
    )
    try:
        async with anyio.create_task_group() as tasks:
            yield await tasks.start(_watch, process)
            tasks.cancel_scope.cancel()
    finally:
        await _end(process)


async def _watch(process: anyio.abc.Process, *, task_status: anyio.abc.TaskStatus[str]) -> None:
    """Wait for the line with the URL, then keep reading so that the process never waits for us."""
    said, is_up = "", False
    stream = process.stderr
    if stream is None:  # it was asked for; this tells the type checker so
        raise TypeError(process)
    with anyio.fail_after(_LONGEST_START_SECONDS) as limit:
        async for chunk in TextReceiveStream(stream):
            if is_up:
                continue
            said += chunk
            url = next((word for word in said.split() if word.startswith("http://")), None)
            if url and said.endswith("\n"):
                is_up, limit.deadline = True, float("inf")
                task_status.started(url)
    if not is_up:
        raise ToolError(SOURCE_UNAVAILABLE, f"the endpoint did not come up: {said.strip()}")


async def _end(process: anyio.abc.Process) -> None:
    with anyio.CancelScope(shield=True):
        if process.returncode is None:
            process.terminate()
        with anyio.move_on_after(_LONGEST_STOP_SECONDS):
            await process.wait()
        if process.returncode is None:
            process.kill()
        await process.aclose()


async def _ready(folder: DemoFolder) -> None:
    """Return when no source is connecting any more."""
    async with open_store(CribSettings(home=folder.home, database=None)) as store:
        names = (await store.snapshot()).sources.keys()
        with anyio.move_on_after(_LONGEST_START_SECONDS):
            while True:
                states = await store.reported()
                settled = {n for n, s in states.items() if s.status is not SourceStatus.CONNECTING}
                if names <= settled:
                    return
                await anyio.sleep(_LOOK_SECONDS)


async def _tell_tokens(folder: DemoFolder, crib: Crib, output: Output) -> None:
    async with open_store(CribSettings(home=folder.home, database=None)) as store:
        records = list((await store.snapshot()).live_tools())
    before = sum(estimate_tokens(_definition(record)) for record in records)
    tools = await crib.meta_tools("mcp")
    after = estimate_tokens(dump_json([*tools]))
    output.line(
        f"\nDefinitions in a model's context: {len(records)} tools, about {before:,} tokens; "
        f"through toolcrib {len(tools)} tools, about {after:,} tokens (estimates).",
        style="bold",
    )


def _definition(record: VersionRecord) -> str:
    """The tool as its server lists it."""
    if record.raw:
        return record.raw
    contract = record.contract
    return dump_json(
        {
            "name": contract.name,
            "description": contract.description,
            "inputSchema": contract.input_schema,
            "outputSchema": contract.output_schema,
        }
    )


@dataclass(frozen=True, slots=True)
class _Conversation:
    """Questions and calls through the endpoint."""

    crib: Crib
    folder: DemoFolder
    output: Output

    async def held(self) -> bool:
        """Whether every call that was tried succeeded."""
        questions = _questions(self.folder).items()
        outcomes = [await self._asked(question, answers) for question, answers in questions]
        return all([*outcomes, await self._called_at_once()])

    async def _asked(self, question: str, answers: Mapping[str, JsonObject]) -> bool:
        """Search, and call the best hit of those that answer the question."""
        found = [hit.reference for hit in await self.crib.search(question, limit=_SHOWN_HITS)]
        tools = [reference.partition("@")[0] for reference in found]
        self.output.line(f"\n? {question}", style="bold")
        self.output.line(f"  found   {', '.join(tools) or 'nothing that fits'}")
        tool = next((tool for tool in tools if tool in answers), None)
        if tool is None:
            self.output.line("  (the server for this is not here)")
            return True
        return self._told(tool, answers[tool], await self.crib.call(tool, answers[tool]))

    async def _called_at_once(self) -> bool:
        every = {tool: a for each in _questions(self.folder).values() for tool, a in each.items()}
        calls = [(tool, every[tool]) for tool in _AT_ONCE if await self._exists(tool)]
        self.output.line(f"\n{len(calls)} calls at once", style="bold")
        results = await self.crib.call_many(calls)
        outcomes = [self._told(*call, result) for call, result in zip(calls, results, strict=True)]
        return all(outcomes)

    async def _exists(self, tool: str) -> bool:
        try:
            await self.crib.describe(tool)
        except ToolError:
            return False
        return True

    def _told(self, tool: str, arguments: JsonObject, result: Result) -> bool:
        self.output.line(f"  called  {tool} {dump_json(arguments)}")
        if result.error is not None:
            self.output.line(f"  failed  {result.error.message}")
            return False
        text = " ".join(result.text.split()) or dump_json(result.data)
        self.output.line(f"  result  {short(text, _SHOWN_LENGTH)}")
        return True


def _questions(folder: DemoFolder) -> Mapping[str, Mapping[str, JsonObject]]:
    """What is asked, and the tools that answer it with the arguments for them."""
    notes = str(folder.notes)
    file: JsonObject = {"path": str(folder.notes / "pancakes.txt")}
    ana: JsonObject = {"name": "Ana", "entityType": "person", "observations": ["likes green tea"]}
    numbers: JsonObject = {"a": 19, "b": 23}
    flight: JsonObject = {
        "source_timezone": "Asia/Shanghai",
        "time": "16:30",
        "target_timezone": "America/New_York",
    }
    return {
        "what time is it in Tokyo?": {"time/get_current_time": {"timezone": "Asia/Tokyo"}},
        "when it is half past four in Shanghai, how late is it in New York?": {
            "time/convert_time": flight
        },
        "show the last commits": {"git/git_log": {"repo_path": notes, "max_count": 3}},
        "has anything changed in the working tree?": {"git/git_status": {"repo_path": notes}},
        "what does a text file say?": {
            "filesystem/read_text_file": file,
            "filesystem/read_file": file,
        },
        "add two numbers": {"everything/get-sum": numbers, "everything/add": numbers},
        "add a person to what is remembered": {"memory/create_entities": {"entities": [ana]}},
        "read everything that is remembered": {"memory/read_graph": {}},
        "把金额写成大写汉字": {"demo/amount_in_capitals": {"yuan": 20_260}},
        "查询某个年份的生肖": {"demo/zodiac_animal": {"year": 2026}},
        "古代的时辰": {"demo/ancient_hour": {"hour": 15}},
    }
