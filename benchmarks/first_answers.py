"""How soon a crib with 4,000 tools gives its first answers, and what whole commands take.

    python -m benchmarks.first_answers DATA_PATH [--tools 4000] [--home FOLDER] [--runs 5]

DATA_PATH holds stored lists of servers (see `corpus_home.py`); copies fill up to `--tools`. Every
figure is of a real process: `toolcrib serve` with all its sources, and the commands. Wall-clock
times depend on what else the machine does, so CPU time is told beside, and the least beside the
median: the least was disturbed least. Making the vectors takes minutes the first time; `--home`
keeps them. Needs Linux (`/proc`).
"""

from __future__ import annotations

import argparse
import json
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

from benchmarks.corpus_home import fill, stored_lists
from benchmarks.running_crib import (
    TOOLCRIB,
    cpu_of,
    headings,
    prepare,
    serving,
    settle,
    yardstick,
)
from benchmarks.tokens import QUESTIONS
from toolcrib_adapters.settings import CribSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

SMALL = 27
"""Tools of a crib as one person has it, beside the large one."""
HANDSHAKE: tuple[dict[str, Any], ...] = (
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "benchmark", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)
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
class Moment:
    """Seconds since a process was started: on the clock, and of its own CPU time."""

    wall: float
    cpu: float


def start_over_http(home: Path) -> dict[str, Moment]:
    """Start, list, search once."""
    with serving(home) as crib:

        def now() -> Moment:
            return Moment(time.perf_counter() - crib.started, crib.usage().cpu)

        moments = {"it listens": now()}
        tools = crib.ask("tools/list", {})["tools"]
        moments["`tools/list` is answered"] = now()
        hits = crib.found(QUESTIONS[0])
        moments["`search_tools` is answered"] = now()
        if not tools or not hits:
            raise SystemExit("an empty answer")
        return moments


@contextmanager
def client(home: Path, *options: str) -> Iterator[Moment]:
    """Start as a client does, shake hands, list; the process runs until the block ends."""
    command = [*TOOLCRIB, "serve", "--stdio", *options, "--home", str(home)]
    started = time.perf_counter()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(b"".join(json.dumps(m).encode() + b"\n" for m in HANDSHAKE))
            process.stdin.flush()
            answers = [json.loads(process.stdout.readline()) for _ in range(2)]
            wall = time.perf_counter() - started
            if not answers[-1]["result"]["tools"]:
                raise SystemExit("an empty answer")
            yield Moment(wall, cpu_of(process.pid))
        finally:
            process.terminate()


def start_over_stdio(home: Path) -> dict[str, Moment]:
    """Start alone; then a first client of a shared crib, and another one."""
    with client(home, "--no-attach") as alone:
        pass
    while _shared_crib_runs(home):
        time.sleep(0.1)
    with client(home) as first, client(home) as another:
        pass
    return {
        "alone (`--no-attach`)": alone,
        "first of those that share a crib, which it starts": first,
        "another of those": another,
    }


def _shared_crib_runs(home: Path) -> bool:
    told = subprocess.run(["pgrep", "-f", f"crib_process {home}"], capture_output=True, check=False)
    return told.returncode == 0


def report_start(home: Path, runs: int) -> None:
    """Print how long starts take."""
    for title, start in (
        ("from the start of `toolcrib serve` until", start_over_http),
        ("until `toolcrib serve --stdio` answered `initialize` and `tools/list`", start_over_stdio),
    ):
        headings(
            f"{title}, {runs} runs",
            *("CPU, median", "least", "wall, median", "least"),
        )
        starts = [start(home) for _ in range(runs)]
        for event in starts[0]:
            cpu = [moments[event].cpu for moments in starts]
            wall = [moments[event].wall for moments in starts]
            cells = (statistics.median(cpu), min(cpu), statistics.median(wall), min(wall))
            print(f"| {event} | " + " | ".join(f"{cell:.2f} s" for cell in cells) + " |")


def report_commands(home: Path, small: Path, runs: int) -> None:
    """Print what whole commands take, from exec to exit."""
    print(
        f"\n| command, {runs} runs | CPU, median | least | wall, median | least | peak RSS |"
        "\n|---|---:|---:|---:|---:|---:|"
    )
    for arguments, where in (
        (["search", QUESTIONS[0]], home),
        (["search", QUESTIONS[0]], small),
        (["search", *QUESTIONS[:3]], home),
        (["tools", "--json"], home),
        (["show", "bench/echo"], home),
        (["sources"], home),
        (["--help"], None),
    ):
        options = [] if where is None else ["--home", str(where)]
        figures = [_command([*TOOLCRIB, *arguments, *options]) for _ in range(runs)]
        cpu, wall, peak = zip(*figures, strict=True)
        shown = " ".join(f'"{word}"' if " " in word else word for word in arguments)
        size = f", {SMALL} tools" if where is small else ""
        cells = (statistics.median(cpu), min(cpu), statistics.median(wall), min(wall))
        print(
            f"| `toolcrib {shown}`{size} | "
            + " | ".join(f"{cell:.2f} s" for cell in cells)
            + f" | {statistics.median(peak):.0f} MiB |"
        )


def _command(command: list[str]) -> tuple[float, float, float]:
    """CPU seconds, wall seconds and peak MiB of one command."""
    told = subprocess.run(
        [sys.executable, "-c", RUN_AND_TELL, *command], check=True, capture_output=True, text=True
    )
    cpu, wall, peak = map(float, told.stdout.split())
    return cpu, wall, peak


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
        home, small = options.home or Path(temporary) / "large", Path(temporary) / "small"
        lists = stored_lists(options.data_path)
        anyio.run(fill, CribSettings(home=small), lists, SMALL)
        tools = anyio.run(prepare, options.data_path, home, options.tools)
        with serving(home) as crib:
            # The first start lists everything once, so that the others find it as it will be.
            settle(crib)
        print(f"\n{tools:,} tools from stored lists, one server that runs")
        print(f"Yardstick: ten million additions take {yardstick():.2f} s of CPU")
        report_start(home, options.runs)
        report_commands(home, small, options.runs)
        print(f"\nYardstick afterwards: {yardstick():.2f} s of CPU")


if __name__ == "__main__":
    main()
