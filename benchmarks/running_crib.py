"""A `toolcrib serve` on a large home, watched from outside.

Used by the benchmarks beside this file. Needs Linux (`/proc`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

from benchmarks.corpus_home import fill, stored_lists
from benchmarks.gateway_cpu import ACCEPT, ENVELOPE, MODERN
from toolcrib_adapters.main import open_store
from toolcrib_adapters.settings import CribSettings
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.publishing import register
from toolcrib_registry.records import SourceKind, SourceRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

TOOLCRIB = [str(Path(sys.executable).with_name("toolcrib"))]
UPSTREAM = [str(Path(__file__).with_name("gateway_processes.py").absolute()), "upstream", "1"]


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
        return Usage(sizes["Pss:"], sizes["Rss:"], cpu_of(self.pid))


def cpu_of(pid: int) -> float:
    """CPU seconds that a process has used, its children not counted."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(home: Path) -> Iterator[Serving]:
    """`toolcrib serve` on a free port, ended with the block."""
    command = [*TOOLCRIB, "serve", "--port", "0", "--home", str(home)]
    with httpx2.Client(timeout=60) as http:
        started = time.perf_counter()
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert process.stderr is not None
                told = ""
                # What else it says comes before its address.
                while "http://" not in (line := process.stderr.readline()):
                    if not line:
                        raise SystemExit(f"toolcrib serve: {told}")
                    told += line
                yield Serving(process.pid, http, line.split()[-1], started)
            finally:
                process.terminate()


def settle(crib: Serving) -> None:
    """Wait until the process has nothing to do: no tenth of a second of CPU within two."""
    before = -1.0
    while (now := crib.usage().cpu) - before > 0.1:
        before = now
        time.sleep(2)


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


def yardstick() -> float:
    """CPU seconds of a plain loop, to compare machines and moments by."""
    started = time.process_time()
    total = 0
    for number in range(10_000_000):
        total += number
    return time.process_time() - started


def headings(*titles: str) -> None:
    print("\n| " + " | ".join(titles) + " |\n|---|" + "---:|" * (len(titles) - 1))
