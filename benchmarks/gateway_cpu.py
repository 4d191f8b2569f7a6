"""What a proxied call costs the gateway, in CPU time of its own process.

    python benchmarks/gateway_cpu.py [--calls 1000] [--tools 200 4000] [--rounds 3] [--no-fastmcp]

One client asks one gateway after the other, one call at a time, over HTTP; behind each gateway is
the same server, over stdio or over HTTP. The figure is CPU time of the gateway's own process; the
rounds are interleaved and the median is told. A busy machine makes every figure larger, by about
the same factor: compare within one run. Needs Linux (`/proc`); FastMCP is installed into a
temporary environment of its own.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import venv
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import httpx2

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
MODERN = "2026-07-28"
LEGACY = "2025-11-25"
ACCEPT = {"accept": "application/json, text/event-stream"}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
}
WARM_UP = 50
FASTMCP = frozenset({"default", "pooled"})
# A default FastMCP proxy opens a session for each call.
FEW_CALLS = 50


_NUMBERS = itertools.count()


@dataclass(frozen=True)
class Row:
    """One line of the table: which process is asked, how, and how often."""

    title: str
    process: str
    tool: str
    is_legacy: bool = False
    over_http: bool = False

    def params(self) -> dict[str, Any]:
        """The call's parameters."""
        # Another text each time: an answer that is the same again may come from memory.
        arguments: dict[str, Any] = {"text": f"hello {next(_NUMBERS)}"}
        if self.tool == "call_tool":
            return {
                "name": "call_tool",
                "arguments": {"name": "bench__echo", "arguments": arguments},
            }
        return {"name": self.tool, "arguments": arguments}


ROWS = (
    Row("direct, no gateway, 2026-07-28", "direct", "echo"),
    Row("direct, no gateway, 2025-11-25", "direct", "echo", is_legacy=True),
    Row("bare SDK gateway, 2026-07-28", "bare", "echo"),
    Row("bare SDK gateway, 2025-11-25", "bare", "echo", is_legacy=True),
    Row("toolcrib by name, 2026-07-28", "ours", "bench__echo"),
    Row("toolcrib by name, 2025-11-25", "ours", "bench__echo", is_legacy=True),
    Row("toolcrib `call_tool`, 2026-07-28", "ours", "call_tool"),
    Row("toolcrib `call_tool`, 2025-11-25", "ours", "call_tool", is_legacy=True),
    Row("FastMCP pooled proxy, 2026-07-28", "pooled", "echo"),
    Row("FastMCP default proxy, 2026-07-28", "default", "echo"),
    Row("toolcrib by name, a write, 2026-07-28", "ours", "bench__store"),
    Row("bare SDK gateway, HTTP upstream", "bare", "echo", over_http=True),
    Row("toolcrib by name, HTTP upstream", "ours", "bench__echo", over_http=True),
    Row("FastMCP pooled proxy, HTTP upstream", "pooled", "echo", over_http=True),
    Row("FastMCP default proxy, HTTP upstream", "default", "echo", over_http=True),
)


@dataclass(frozen=True)
class Gateway:
    """A running process and where it answers."""

    pid: int
    url: str

    def cpu_seconds(self) -> float:
        """User and system time of the process so far, its children not counted."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def running(
    process: str, tools: int, url: str = "", python: Path | None = None
) -> Iterator[Gateway]:
    """The process of that name, ended with the block."""
    if process in FASTMCP:
        stdio = [sys.executable, str(HERE / "gateway_processes.py"), "upstream", str(tools)]
        behind = [url] if url else stdio
        command = [str(python), str(HERE / "fastmcp_proxy.py"), process, *behind]
    else:
        script = str(HERE / "gateway_processes.py")
        command = [sys.executable, script, process, str(tools), *([url] if url else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
        try:
            assert started.stdout is not None
            url = started.stdout.readline().strip()
            if not url:
                raise SystemExit(f"{process} did not start")
            yield Gateway(started.pid, url)
        finally:
            started.terminate()


async def milliseconds(gateway: Gateway, row: Row, calls: int) -> float:
    """CPU of the gateway for one call, the mean of `calls`."""
    async with httpx2.AsyncClient(headers=ACCEPT, timeout=120) as http:
        await _connect(http, gateway, row)
        for _ in range(min(WARM_UP, calls)):
            await _call(http, gateway, row)
        before = gateway.cpu_seconds()
        for _ in range(calls):
            await _call(http, gateway, row)
        return (gateway.cpu_seconds() - before) / calls * 1_000


async def _connect(http: httpx2.AsyncClient, gateway: Gateway, row: Row) -> None:
    if not row.is_legacy:
        await _until_listening(http, gateway)
        name = row.params()["name"]
        http.headers |= {
            "mcp-protocol-version": MODERN,
            "mcp-method": "tools/call",
            "mcp-name": name,
        }
        return
    hello = {
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "benchmark", "version": "1"},
    }
    greeted = await http.post(gateway.url, json=_request("initialize", hello))
    http.headers |= {
        "mcp-session-id": greeted.headers["mcp-session-id"],
        "mcp-protocol-version": LEGACY,
    }
    await http.post(gateway.url, json={"jsonrpc": "2.0", "method": "notifications/initialized"})


async def _until_listening(http: httpx2.AsyncClient, gateway: Gateway) -> None:
    with anyio.fail_after(60):
        while True:
            try:
                await http.get(gateway.url)
            except httpx2.TransportError:
                await anyio.sleep(0.1)
            else:
                return


async def _call(http: httpx2.AsyncClient, gateway: Gateway, row: Row) -> None:
    params = row.params() if row.is_legacy else {**row.params(), "_meta": ENVELOPE}
    response = await http.post(gateway.url, json=_request("tools/call", params))
    if response.status_code != httpx2.codes.OK or '"text":"hello ' not in response.text:
        raise SystemExit(f"{row.title}: {response.status_code} {response.text[:500]}")


def _request(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


@contextmanager
def fastmcp_python(*, is_wanted: bool, has: str | None = None) -> Iterator[Path | None]:
    """The interpreter of an environment with FastMCP, or None; `has` is one that is there."""
    if not is_wanted or has:
        yield Path(has) if is_wanted and has else None
        return
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "fastmcp>=4,<5"], check=True)
        yield python


def measured(options: argparse.Namespace, tools: int, fastmcp: Path | None) -> dict[Row, float]:
    """The median of all rounds, for each row."""
    figures: dict[Row, list[float]] = {}
    rows = [
        row
        for row in ROWS
        if (row.process not in FASTMCP or fastmcp is not None)
        and (options.only in row.title or row.process == "bare")
    ]
    with running("direct", tools) as shared:
        for row in rows * options.rounds:
            calls = FEW_CALLS if row.process == "default" else options.calls
            url = shared.url if row.over_http else ""
            with running(row.process, tools, url, fastmcp) as gateway:
                figures.setdefault(row, []).append(anyio.run(milliseconds, gateway, row, calls))
    return {row: statistics.median(rounds) for row, rounds in figures.items()}


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=1_000, help="calls a figure")
    parser.add_argument("--tools", type=int, nargs="+", default=[200, 4_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-fastmcp", action="store_true")
    parser.add_argument("--only", default="", help="rows whose title holds this")
    options = parser.parse_args()
    with fastmcp_python(is_wanted=not options.no_fastmcp) as fastmcp:
        columns = {tools: measured(options, tools, fastmcp) for tools in options.tools}
    print("| CPU of the gateway per call | " + " | ".join(f"{n:,} tools" for n in columns) + " |")
    print("|---|" + "---:|" * len(columns))
    for row in next(iter(columns.values())):
        cells = [
            f"{figures[row]:.2f} ms ({figures[row] / figures[_bare(row)]:.1f}x)"
            for figures in columns.values()
        ]
        print(f"| {row.title} | " + " | ".join(cells) + " |")
    print("\nIn brackets: against the bare SDK gateway of the same generation and upstream.")


def _bare(row: Row) -> Row:
    like = (row.is_legacy, row.over_http)
    return next(r for r in ROWS if r.process == "bare" and (r.is_legacy, r.over_http) == like)


if __name__ == "__main__":
    main()
