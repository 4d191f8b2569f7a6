"""Many real servers at once: import, start, memory, use; and a configuration that is half broken.

    python -m benchmarks.many_servers FOLDER [--skip-public] [--entries 100]

The first part installs thirty public servers (`public_servers.py`) into FOLDER, imports them in one
go into a new home, serves them, and calls some of their tools. The second part needs nothing
installed: of `--entries` servers some are dead, silent, slow or missing, and what counts is how
soon the first tool list is answered. Wall-clock times depend on what else the machine does. Needs
Linux (`/proc`), and Node for the first part.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.public_servers import install
from benchmarks.running_crib import TOOLCRIB, Serving, serving

# Tools that need no account.
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("mcp-server-time/get_current_time", {"timezone": "Asia/Tokyo"}),
    ("mcp-server-git/git_status", {"repo_path": "{work}"}),
    ("modelcontextprotocol-server-everything/echo", {"message": "hello"}),
    ("modelcontextprotocol-server-filesystem/list_allowed_directories", {}),
    ("modelcontextprotocol-server-memory/read_graph", {}),
    ("excel-mcp-server/create_workbook", {"path": "{work}/book.xlsx"}),
    ("office-word-mcp-server/create_document", {"filename": "{work}/letter.docx"}),
    ("wonderwhy-er-desktop-commander/list_sessions", {}),
)
READY_WITHIN_SECONDS = 240.0
UPSTREAM = [str(Path(__file__).with_name("gateway_processes.py").absolute()), "upstream", "3"]


def environment(home: Path) -> dict[str, str]:
    """What the commands see."""
    return {**os.environ, "TOOLCRIB_HOME": str(home)}


def toolcrib(home: Path, *words: str) -> dict[str, Any]:
    """The JSON document of a command, whatever its exit code."""
    command = [*TOOLCRIB, *words, "--json"]
    done = subprocess.run(
        command, env=environment(home), capture_output=True, text=True, check=False
    )
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def public(folder: Path) -> None:
    """Import, serve and use the public servers."""
    config = install(folder)
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        started = time.perf_counter()
        rows = toolcrib(home, "import", str(folder / "mcp.json"), "--timeout", "300")["sources"]
        seconds = time.perf_counter() - started
        states = Counter(row["status"] for row in rows)
        tools, refused = (sum(row[key] for row in rows) for key in ("tools", "quarantined"))
        print(f"{len(config)} servers imported in {seconds:.1f} s: {dict(states)}")
        print(f"{tools} tools accepted, {refused} quarantined")
        for row in rows:
            if row["status"] != "ready":
                print(f"  {row['source']}: {row['reason']}")
        with serving(home) as crib:
            serve_public(crib, home, len(config), folder / "work")


def serve_public(crib: Serving, home: Path, servers: int, work: Path) -> None:
    """What serving all of them takes."""
    crib.ask("tools/list", {})
    first = time.perf_counter() - crib.started
    ready = 0
    while ready < servers and time.perf_counter() - crib.started < READY_WITHIN_SECONDS:
        states = [row["state"] for row in toolcrib(home, "sources")["sources"]]
        ready = states.count("ready")
        time.sleep(0.5)
    seconds = time.perf_counter() - crib.started
    usage, below = crib.usage(), proportional(children(crib.pid))
    print(f"first list {first:.2f} s after the start; {ready} ready after {seconds:.1f} s")
    print(f"gateway {usage.rss:.0f} MiB resident; its {servers} servers {below:.0f} MiB together")
    for tool, arguments in CALLS:
        given = {k: v.format(work=work) if isinstance(v, str) else v for k, v in arguments.items()}
        answer = crib.call("call_tool", {"name": tool, "arguments": given})
        text = " ".join(str(answer["content"][0].get("text", "")).split())[:80]
        print(f"  {'failed' if answer.get('isError') else 'called'} {tool}: {text}")


def children(pid: int) -> list[int]:
    """The processes below `pid`, at any depth."""
    below = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            below += [int(child), *children(int(child))]
    return below


def proportional(pids: list[int]) -> float:
    """Their memory in MiB, shared pages counted once."""
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def broken(entries: int) -> dict[str, Any]:
    """A client configuration in which of ten servers six work."""
    python = sys.executable
    kinds: list[dict[str, Any]] = [
        {"command": "no-such-command"},
        {"command": python, "args": ["-c", "raise SystemExit('the licence has expired')"]},
        {"command": python, "args": ["-c", "import time; time.sleep(3600)"]},
        {"command": "sh", "args": ["-c", 'sleep 5; exec "$@"', "sh", python, *UPSTREAM]},
    ]
    works = {"command": python, "args": UPSTREAM}
    return {f"server-{n}": kinds[n % 10] if n % 10 < len(kinds) else works for n in range(entries)}


def half_broken(entries: int) -> None:
    """How soon a crib with a bad configuration answers."""
    with tempfile.TemporaryDirectory() as scratch:
        home, config = Path(scratch, "home"), Path(scratch, "mcp.json")
        config.write_text(json.dumps({"mcpServers": broken(entries)}))
        toolcrib(home, "import", str(config), "--no-connect")
        with serving(home) as crib:
            listening = time.perf_counter() - crib.started
            before = time.perf_counter()
            crib.ask("tools/list", {})
            took = time.perf_counter() - before
            print(f"{entries} servers, a tenth each missing, dead, silent, slow to start:")
            print(f"listening {listening:.2f} s after the start; first list in {took:.3f} s")
            slowest = max(_timed(crib) for _ in range(50))
            print(f"the slowest of 50 lists while they connect: {slowest:.3f} s")


def _timed(crib: Serving) -> float:
    before = time.perf_counter()
    crib.ask("tools/list", {})
    time.sleep(0.1)
    return time.perf_counter() - before - 0.1


def main() -> None:
    """Run both parts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--skip-public", action="store_true")
    parser.add_argument("--entries", type=int, default=100)
    wishes = parser.parse_args()
    if not wishes.skip_public:
        public(wishes.folder.absolute())
    half_broken(wishes.entries)


if __name__ == "__main__":
    main()
