"""What a crib with 4,000 tools needs of memory, and how fast changes show in it.

    python -m benchmarks.memory_and_changes DATA_PATH [--tools 4000] [--home FOLDER] [--runs 5]

DATA_PATH holds stored lists of servers (see `corpus_home.py`); copies fill up to `--tools`. Every
figure is of a real process: `toolcrib serve` with all its sources. Making the vectors takes minutes
the first time; `--home` keeps them. Needs Linux (`/proc`).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from benchmarks.corpus_home import NOW
from benchmarks.running_crib import headings, prepare, serving, settle, yardstick
from benchmarks.tokens import QUESTIONS
from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.main import open_store
from toolcrib_adapters.settings import CribSettings
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.publishing import Publication, publish
from toolcrib_registry.retirement import remove_source

if TYPE_CHECKING:
    from benchmarks.running_crib import Serving, Usage

SOURCE = "benchmark-publication"
NEW_TOOL: dict[str, Any] = {
    "name": "count_lighthouses",
    "description": "Count the lighthouses along a stretch of coast.",
    "inputSchema": {"type": "object", "properties": {"coast": {"type": "string"}}},
}
NEW_QUESTION = "how many lighthouses are on this coast"
MANY = 200


def report_memory(home: Path) -> None:
    """Print what a crib needs after its first answers, when all sources are listed, after work."""
    headings("memory of `toolcrib serve`", "PSS", "RSS", "CPU so far")
    with serving(home) as crib:
        crib.ask("tools/list", {})
        crib.found(QUESTIONS[0])
        _memory("after the first answers", crib.usage())
        settle(crib)
        _memory("all sources listed again, idle", crib.usage())
        for number in range(MANY):
            crib.found(f"{QUESTIONS[number % len(QUESTIONS)]} number {number}")
        _memory(f"{MANY} different searches later", crib.usage())
        for number in range(MANY):
            answer = crib.call("bench__echo", {"text": f"hello {number}"})
            if answer.get("isError"):
                raise SystemExit(str(answer))
        _memory(f"{MANY} calls later", crib.usage())


def report_changes(home: Path, runs: int) -> None:
    """Print how long publications take to be found, and removals to be gone."""
    here, there, gone = [], [], []
    with serving(home) as crib:
        crib.found(NEW_QUESTION)
        settle(crib)
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
    headings(f"changes in a running crib, {runs} runs", "median", "least", "most")
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


def _row(title: str, figures: list[float], unit: str) -> None:
    cells = (statistics.median(figures), min(figures), max(figures))
    print(f"| {title} | " + " | ".join(f"{figure:.2f} {unit}" for figure in cells) + " |")


def _memory(title: str, usage: Usage) -> None:
    print(f"| {title} | {usage.pss:.0f} MiB | {usage.rss:.0f} MiB | {usage.cpu:.1f} s |")


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
            settle(crib)
        print(f"\n{tools:,} tools from stored lists, one server that runs")
        print(f"Yardstick: ten million additions take {yardstick():.2f} s of CPU")
        report_memory(home)
        report_changes(home, options.runs)
        print(f"\nYardstick afterwards: {yardstick():.2f} s of CPU")


if __name__ == "__main__":
    main()
