"""What a thousand reconnects leave behind, and how soon a killed server serves again.

    python -m benchmarks.reconnects [--times 1000] [--every 100]

One stdio server is killed with SIGKILL again and again; the crib starts it anew. The clock jumps
half a minute ahead before each kill, so that every connection counts as one that lasted and the
first, short pause of the back-off holds. Measured is from the kill to the first answer of the new
process. Needs Linux (`/proc`).
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio

from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.processes.household import Household
from toolcrib_adapters.sources.mcp_upstream import McpUpstream
from toolcrib_adapters.sources.mcp_upstream.forwarding import HttpAccess
from toolcrib_protocol.errors import ToolError
from toolcrib_registry.permissions import LOCAL_CALLER
from toolcrib_registry.ports import CallContext
from toolcrib_registry.records import SourceKind, SourceRecord

SERVER = Path(__file__).parents[1] / "tests" / "fake_upstreams" / "line_server.py"
SPEC: dict[str, Any] = {
    "transport": "stdio",
    "command": sys.executable,
    "args": ["-I", str(SERVER), "{}"],
}
STABLE_SECONDS = 31.0


class QuickClock(SystemClock):
    """The real clock, whose time jumps ahead: each connection counts as one that lasted."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        """Seconds, with the jumps."""
        return super().monotonic() + self.ahead

    def now(self) -> datetime:
        """The time of day."""
        return datetime.now(UTC)


class Host:
    """Hears nothing."""

    async def report(self, state: Any) -> None:
        """Nobody asks."""

    async def listed(self, listing: Any) -> None:
        """Nobody asks."""

    def noticed(self, notice: Any) -> None:
        """Nobody asks."""

    def used(self) -> None:
        """Nobody asks."""

    def is_known(self) -> bool:
        """It connects at once."""
        return False

    def is_hot(self) -> bool:
        """As above."""
        return True


def facts() -> tuple[float, int, int]:
    """Resident megabytes, descriptors, tasks of this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    held = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    return held, len(list(Path("/proc/self/fd").iterdir())), len(anyio.get_running_tasks())


async def pid_of(source: McpUpstream) -> int:
    """The number of the server's process, from itself."""
    while True:
        try:
            result = await source.call("environment", {}, CallContext(30, LOCAL_CALLER))
        except ToolError:
            await anyio.sleep(0.005)
            continue
        if isinstance(result.data, dict):
            return int(str(result.data["pid"]))


async def measure(times: int, every: int) -> None:
    """Kill it so often, and look."""
    clock, host = QuickClock(), Host()
    with tempfile.TemporaryDirectory() as home:
        household = Household(Path(home), most=8)
        source = McpUpstream(
            SourceRecord("up", SourceKind.MCP, SPEC, "up"),
            environment=os.environ,
            clock=clock,
            connect_gate=anyio.CapacityLimiter(8),
            access=HttpAccess(household=household),
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(source.run, host)
            took = []
            print("reconnects   resident MB   descriptors   tasks")
            for number in range(times + 1):
                if number % every == 0:
                    held, files, running = facts()
                    print(f"{number:>10}   {held:>11.1f}   {files:>11}   {running:>5}", flush=True)
                pid = await pid_of(source)
                clock.ahead += STABLE_SECONDS
                started = time.perf_counter()
                os.kill(pid, signal.SIGKILL)
                while await pid_of(source) == pid:  # noqa: ASYNC110 - it is asked, not told
                    await anyio.sleep(0.001)
                took.append(time.perf_counter() - started)
            tasks.cancel_scope.cancel()
        household.close()
        left = list((Path(home) / "processes").iterdir())
    took.sort()
    print(f"left on the roll: {len(left)}")
    print(
        f"kill -9 to the next answer: median {statistics.median(took) * 1000:.0f} ms, "
        f"95 % {took[int(len(took) * 0.95)] * 1000:.0f} ms, longest {took[-1] * 1000:.0f} ms"
    )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=1_000)
    parser.add_argument("--every", type=int, default=100)
    given = parser.parse_args()
    anyio.run(measure, given.times, given.every)


if __name__ == "__main__":
    main()
