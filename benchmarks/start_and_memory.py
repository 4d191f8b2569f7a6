"""How soon a crib with 4,000 tools answers, what it needs, and how fast changes show.

    python -m benchmarks.start_and_memory DATA_PATH [--tools 4000] [--home FOLDER] [--runs 5]

DATA_PATH holds stored lists of servers (see `corpus_home.py`); copies fill up to `--tools`. Every
figure is of a real process: `toolcrib serve` with all its sources, and the commands. Wall-clock
times depend on what else the machine does, so medians are told, with CPU time beside. Making the
vectors takes minutes the first time; `--home` keeps them. Needs Linux (`/proc`).
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import httpx2

from benchmarks.corpus_home import NOW, fill, stored_lists
from benchmarks.gateway_cpu import ACCEPT, ENVELOPE, MODERN
from benchmarks.tokens import QUESTIONS
from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.main import open_store
from toolcrib_adapters.settings import CribSettings
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.publishing import Publication, publish, register
from toolcrib_registry.records import SourceKind, SourceRecord
from toolcrib_registry.retirement import remove_source

if TYPE_CHECKING:
    from collections.abc import Iterator

TOOLCRIB = [str(Path(sys.executable).with_name("toolcrib"))]
UPSTREAM = [str(Path(__file__).with_name("gateway_processes.py").absolute()), "upstream", "1"]
SOURCE = "benchmark-publication"
NEW_TOOL: dict[str, Any] = {
    "name": "count_lighthouses",
    "description": "Count the lighthouses along a stretch of coast.",
    "inputSchema": {"type": "object", "properties": {"coast": {"type": "string"}}},
}
NEW_QUESTION = "how many lighthouses are on this coast"
MANY = 200
# A process of its own, because a new process inherits the peak of the one that started it.
RUN_AND_TELL = """
import os, subprocess, sys, time
started = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(process.pid, 0)
process.returncode = os.waitstatus_to_exitcode(status)
print(used.ru_utime + used.ru_stime, time.perf_counter() - started, used.ru_maxrss / 1024)
sys.exit(process.returncode)
"""


@dataclass(frozen=True)
class Usage:
    """What a process used so far, in MiB and seconds."""

    pss: float
    rss: float
    cpu: float


@dataclass(frozen=True)
class Serving:
    """A running `toolcrib serve`, and an HTTP client for it."""

    pid: int
    http: httpx2.Client
    url: str
    started: float

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of one request.

        Raises:
            SystemExit: it was refused.
        """
        headers = {**ACCEPT, "mcp-protocol-version": MODERN, "mcp-method": method}
        if method == "tools/call":
            headers["mcp-name"] = params["name"]
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": method,
            "params": {**params, "_meta": ENVELOPE},
        }
        answer: dict[str, Any] = self.http.post(self.url, json=body, headers=headers).json()
        if "result" not in answer:
            raise SystemExit(f"{method}: {answer}")
        result: dict[str, Any] = answer["result"]
        return result

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result of one call."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def found(self, question: str) -> list[str]:
        """The names that a search answers."""
        answer = self.call("search_tools", {"queries": [question]})["structuredContent"]
        return [hit["name"] for hit in answer["results"][0]["hits"]]

    def usage(self) -> Usage:
        """What the process uses, its children not counted."""
        lines = Path(f"/proc/{self.pid}/smaps_rollup").read_text().splitlines()
        sizes = {words[0]: int(words[1]) / 1024 for line in lines[1:] if (words := line.split())}
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        return Usage(sizes["Pss:"], sizes["Rss:"], ticks / os.sysconf("SC_CLK_TCK"))


@contextmanager
def serving(home: Path) -> Iterator[Serving]:
    """`toolcrib serve` on a free port, ended with the block."""
    command = [*TOOLCRIB, "serve", "--port", "0", "--home", str(home)]
    with httpx2.Client(timeout=60) as http:
        started = time.perf_counter()
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert process.stderr is not None
                line = process.stderr.readline().strip()
                if "http://" not in line:
                    raise SystemExit(f"toolcrib serve: {line}{process.stderr.read()}")
                yield Serving(process.pid, http, line.split()[-1], started)
            finally:
                process.terminate()


@dataclass(frozen=True)
class Start:
    """One start: seconds until it listens and until both answers are there, and what it took."""

    listening: float
    answered: float
    usage: Usage


def start(home: Path) -> Start:
    """Start, list, search once."""
    with serving(home) as crib:
        listening = time.perf_counter() - crib.started
        tools = crib.ask("tools/list", {})["tools"]
        hits = crib.found(QUESTIONS[0])
        answered = time.perf_counter() - crib.started
        if not tools or not hits:
            raise SystemExit("an empty answer")
        return Start(listening, answered, crib.usage())


def report_start(home: Path, runs: int) -> None:
    """Print how long starts take."""
    starts = [start(home) for _ in range(runs)]
    _headings(f"start of `toolcrib serve`, {runs} runs", "median", "least", "most")
    _row("listening", [s.listening for s in starts], "s")
    _row("`tools/list` and `search_tools` answered", [s.answered for s in starts], "s")
    _row("CPU of the process until then", [s.usage.cpu for s in starts], "s")


def report_memory(home: Path) -> None:
    """Print what a crib needs after its first answers, when all sources are listed, after work."""
    _headings("memory of `toolcrib serve`", "PSS", "RSS", "CPU so far")
    with serving(home) as crib:
        crib.ask("tools/list", {})
        crib.found(QUESTIONS[0])
        _memory("after the first answers", crib.usage())
        _settle(crib)
        _memory("all sources listed again, idle", crib.usage())
        for number in range(MANY):
            crib.found(f"{QUESTIONS[number % len(QUESTIONS)]} number {number}")
        _memory(f"{MANY} different searches later", crib.usage())
        for number in range(MANY):
            answer = crib.call("bench__echo", {"text": f"hello {number}"})
            if answer.get("isError"):
                raise SystemExit(str(answer))
        _memory(f"{MANY} calls later", crib.usage())


def _settle(crib: Serving) -> None:
    """Wait until the process has nothing to do: no tenth of a second of CPU within two."""
    before = -1.0
    while (now := crib.usage().cpu) - before > 0.1:
        before = now
        time.sleep(2)


def report_commands(home: Path, runs: int) -> None:
    """Print what whole commands take, from exec to exit."""
    print(
        f"\n| command, {runs} runs | CPU, median | wall, median | peak RSS |\n|---|---:|---:|---:|"
    )
    for arguments in (
        ["search", QUESTIONS[0]],
        ["search", *QUESTIONS[:3]],
        ["tools", "--json"],
        ["show", "bench/echo"],
        ["sources"],
        ["--help"],
    ):
        where = [] if arguments == ["--help"] else ["--home", str(home)]
        figures = [_command([*TOOLCRIB, *arguments, *where]) for _ in range(runs)]
        cpu, wall, peak = (statistics.median(column) for column in zip(*figures, strict=True))
        shown = " ".join(f'"{word}"' if " " in word else word for word in arguments)
        print(f"| `toolcrib {shown}` | {cpu:.2f} s | {wall:.2f} s | {peak:.0f} MiB |")


def _command(command: list[str]) -> tuple[float, float, float]:
    """CPU seconds, wall seconds and peak MiB of one command."""
    told = subprocess.run(
        [sys.executable, "-c", RUN_AND_TELL, *command], check=True, capture_output=True, text=True
    )
    cpu, wall, peak = map(float, told.stdout.split())
    return cpu, wall, peak


def report_changes(home: Path, runs: int) -> None:
    """Print how long publications take to be found, and removals to be gone."""
    here, there, gone = [], [], []
    with serving(home) as crib:
        crib.found(NEW_QUESTION)
        _settle(crib)
        for _ in range(runs):
            wish = {"source": SOURCE, "kind": "snapshot", "entries": [NEW_TOOL]}
            asked = time.perf_counter()
            crib.ask("toolcrib/publish", wish)
            here.append(_seconds_until(crib, asked, is_there=True))
            gone.append(_seconds_until(crib, anyio.run(_remove, home), is_there=False))
            _claim_gone(crib)
            there.append(_seconds_until(crib, anyio.run(_publish, home), is_there=True))
            gone.append(_seconds_until(crib, anyio.run(_remove, home), is_there=False))
            _claim_gone(crib)
    _headings(f"changes in a running crib, {runs} runs", "median", "least", "most")
    _row("from sending `toolcrib/publish` until a search finds the tool", here, "s")
    _row("from a commit of another process until a search finds the tool", there, "s")
    _row("from a removal by another process until no search finds the tool", gone, "s")


def _seconds_until(crib: Serving, since: float, *, is_there: bool) -> float:
    name = f"{SOURCE}__{NEW_TOOL['name']}"
    while (name in crib.found(NEW_QUESTION)) is not is_there:
        if time.perf_counter() - since > 60:
            raise SystemExit(f"{name} is still {'not found' if is_there else 'found'}")
        time.sleep(0.01)
    return time.perf_counter() - since


def _claim_gone(crib: Serving) -> None:
    """Nothing stale: by name, by words, by meaning, in its group and by a call."""
    name = f"{SOURCE}__{NEW_TOOL['name']}"
    asked = (name, f"{SOURCE}/{NEW_TOOL['name']}", "lighthouses", NEW_TOOL["description"])
    stale = [question for question in asked if name in crib.found(question)]
    if stale or not crib.call(name, {}).get("isError"):
        raise SystemExit(f"the removed tool still answers: {stale or name}")


async def _publish(home: Path) -> float:
    """Publish as another process does; when it was committed."""
    async with open_store(CribSettings(home=home)) as store:
        catalogue = await Catalogue.open(store)
        await publish(catalogue, Publication(SOURCE, (NEW_TOOL,)), SystemClock())
        return time.perf_counter()


async def _remove(home: Path) -> float:
    """Remove as another process does; when it was committed."""
    async with open_store(CribSettings(home=home)) as store:
        catalogue = await Catalogue.open(store)
        await catalogue.change(lambda snapshot: remove_source(snapshot, SOURCE, NOW))
        return time.perf_counter()


def yardstick() -> float:
    """CPU seconds of a plain loop, to compare machines and moments by."""
    started = time.process_time()
    total = 0
    for number in range(10_000_000):
        total += number
    return time.process_time() - started


def _headings(*titles: str) -> None:
    print("\n| " + " | ".join(titles) + " |\n|---|" + "---:|" * (len(titles) - 1))


def _row(title: str, figures: list[float], unit: str) -> None:
    cells = (statistics.median(figures), min(figures), max(figures))
    print(f"| {title} | " + " | ".join(f"{figure:.2f} {unit}" for figure in cells) + " |")


def _memory(title: str, usage: Usage) -> None:
    print(f"| {title} | {usage.pss:.0f} MiB | {usage.rss:.0f} MiB | {usage.cpu:.1f} s |")


async def prepare(folder: Path, home: Path, tools: int) -> int:
    """Fill the home, and register one server that can be called."""
    settings = CribSettings(home=home)
    async with open_store(settings) as store:
        spec: dict[str, Any] = {
            "transport": "stdio",
            "command": sys.executable,
            "args": [*UPSTREAM],
            "env": {"PYTHONPATH": os.environ.get("PYTHONPATH", "")},
        }
        record = SourceRecord("bench", SourceKind.MCP, spec, "bench")
        await register(await Catalogue.open(store), record)
    return await fill(settings, stored_lists(folder), tools)


def main() -> None:
    """Measure and print Markdown tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data_path", type=Path, help="a folder of stored lists")
    parser.add_argument("--tools", type=int, default=4_000)
    parser.add_argument("--home", type=Path, help="keep the filled home here")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = options.home or Path(temporary)
        tools = anyio.run(prepare, options.data_path, home, options.tools)
        with serving(home) as crib:
            # The first start lists everything once, so that the others find it as it will be.
            _settle(crib)
        print(f"\n{tools:,} tools from stored lists, one server that runs")
        print(f"Yardstick: ten million additions take {yardstick():.2f} s of CPU")
        report_start(home, options.runs)
        report_memory(home)
        report_commands(home, options.runs)
        report_changes(home, options.runs)
        print(f"\nYardstick afterwards: {yardstick():.2f} s of CPU")


if __name__ == "__main__":
    main()
