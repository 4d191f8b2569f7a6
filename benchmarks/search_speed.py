"""How long a question takes: with encoding, remembered, and after a publication.

    python -m benchmarks.search_speed [--tools 200 4000 100000]

Synthetic tools, written by rule; their vectors are drawn at random (speed does not depend on what
they mean), queries go through the real encoder. Milliseconds of CPU time of this process, one
thread, of the best of five rounds of a hundred queries (other work on the machine takes caches, and
that shows in CPU time too); "cold" is `toolcrib search` in a fresh process, wall clock and CPU, the
best of five. Bars: 5 ms at 4,000 and 10 ms at 100,000 tools for queries of at most 12 words, 0.2 ms
for a remembered query, 1 s from publishing to finding. The last line is encoding alone, on the same
machine in the same run.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import numpy as np

from benchmarks.retrieval_sets import ACTIVE, snapshot_of
from toolcrib_adapters.main import open_store
from toolcrib_adapters.search.index_file import IndexFile
from toolcrib_adapters.search.onnx_encoder import OnnxEncoder
from toolcrib_adapters.settings import CribSettings
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.tool import Contract
from toolcrib_protocol.version import FIRST_VERSION
from toolcrib_registry.changes import AddVersion, AllocateName, SetHead, SetStatus
from toolcrib_registry.questions import SearchRequest
from toolcrib_registry.records import VersionRecord
from toolcrib_registry.search import Search

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from toolcrib_registry.snapshot import Snapshot

VERBS: Final = re.findall(
    r"\w+", "list create delete update find send export import merge archive restore share"
)
THINGS: Final = re.findall(
    r"\w+",
    "invoice message file branch customer ticket image calendar event contact report payment order "
    "document table folder release issue comment deployment server database record webhook",
)
PLACES: Final = re.findall(
    r"\w+", "workspace project account repository mailbox store cluster team region board"
)
SYLLABLES: Final = re.findall(r"\w+", "ba ko ri mu ta ne so li va du pe zo")
RARE: Final = ["".join(parts) for parts in product(SYLLABLES, repeat=3)]
"""Words that occur now and then, as most words of descriptions do."""
SHORT: Final = 100
ROUNDS: Final = 5
LONG: Final = 30


class DrawnVectors:
    """The shipped encoder for queries; vectors of tools are drawn, in microseconds."""

    unrelated = 0.0
    reads_unspaced = False

    def __init__(self) -> None:
        self.real = OnnxEncoder()
        # Under the shipped encoder's name, so that the command finds the index complete.
        self.id, self.dimensions = self.real.id, self.real.dimensions
        self.draws = True

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not self.draws:
            return self.real.encode(texts)
        seeds = [zlib.crc32(text.encode()) for text in texts]
        made = np.random.default_rng(seeds[0]).normal(size=(len(texts), self.dimensions))
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        return made.astype(np.float32)


class NoCache:
    """Drawn vectors need not be remembered."""

    def get(self, keys: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        return {}

    def put(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        pass

    def prune(self, live: Callable[[], Collection[str]]) -> None:
        pass


def contract(number: int) -> Contract:
    draw = random.Random(number)
    verb, thing, place = draw.choice(VERBS), draw.choice(THINGS), draw.choice(PLACES)
    other = " ".join(draw.choices(RARE, k=12))
    return Contract(
        group=f"group-{number // 20}",
        name=f"{verb}_{thing}_{number}",
        description=f"{verb.title()} one {thing} or several in a {place}. Knows {other}.",
        input_schema={
            "type": "object",
            "properties": {
                f"{thing}_id": {"type": "string", "description": f"Which {thing}."},
                "limit": {"type": "integer", "description": "How many at most."},
            },
        },
    )


def query(draw: random.Random, words: int) -> str:
    parts = [draw.choice(VERBS), "the", draw.choice(THINGS), "of", "my", draw.choice(PLACES)]
    return " ".join([*parts, *draw.choices(THINGS + PLACES, k=words - len(parts))])


async def filled(count: int, home: Path) -> tuple[Search, Snapshot]:
    encoder = DrawnVectors()
    store = IndexFile(home / "index" / "search.npz", encoder.id, encoder.dimensions)
    search = Search(encoder, store, NoCache())
    snapshot = snapshot_of([contract(number) for number in range(count)])
    await search.open(snapshot)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(search.run)
        async for _ in search.building():
            pass
        tasks.cancel_scope.cancel()
    encoder.draws = False
    return search, snapshot


async def timed(search: Search, text: str) -> float:
    """CPU milliseconds of one question."""
    began = time.process_time()
    await search.ask(SearchRequest((text,)))
    return 1000 * (time.process_time() - began)


def encoding() -> float:
    """CPU milliseconds of encoding a query of at most 12 words."""
    encoder, draw, rounds = OnnxEncoder(), random.Random(7), []
    for _ in range(ROUNDS):
        spent = []
        for _ in range(SHORT):
            text = query(draw, draw.randint(6, 12))
            began = time.process_time()
            encoder.encode([text])
            spent.append(1000 * (time.process_time() - began))
        rounds.append(spent)
    return statistics.median(best(rounds))


def best(rounds: Sequence[Sequence[float]]) -> Sequence[float]:
    """The round with the least median."""
    return min(rounds, key=statistics.median)


async def report(count: int, home: Path) -> None:
    search, snapshot = await filled(count, home)
    await keep_catalogue(home, snapshot)
    draw = random.Random(7)
    for _ in range(10):
        await timed(search, query(draw, 8))
    short = best(
        [
            [await timed(search, query(draw, draw.randint(6, 12))) for _ in range(SHORT)]
            for _ in range(ROUNDS)
        ]
    )
    long = best(
        [[await timed(search, query(draw, 40)) for _ in range(LONG)] for _ in range(ROUNDS)]
    )
    one = query(draw, 9)
    await timed(search, one)
    began = time.process_time()
    for _ in range(1_000):
        await search.ask(SearchRequest((one,)))
    cached = time.process_time() - began
    rows = [
        statistics.median(short),
        statistics.quantiles(short, n=20)[18],
        statistics.median(long),
    ]
    published = [await findable(search, snapshot, number) for number in range(5)]
    print(
        f"| {count:,} | {rows[0]:.2f} | {rows[1]:.2f} | {rows[2]:.2f} | {cached:.3f} | "
        f"{statistics.median(published):.0f} |",
        end="",
        flush=True,
    )


async def findable(search: Search, snapshot: Snapshot, number: int) -> float:
    """CPU milliseconds from a published tool to its being found."""
    record = VersionRecord.of(
        Contract(group="late", name=f"zebra{number}", description=f"Feeds zebra {number}."),
        "late",
        "zebra",
    )
    tool = ToolId("late", f"zebra{number}")
    after = snapshot.with_changes(
        [
            AllocateName(tool, tool.name),
            AddVersion(record),
            SetStatus(tool, FIRST_VERSION, ACTIVE),
            SetHead(tool, FIRST_VERSION),
        ],
        snapshot.revision + 1,
    )
    began = time.process_time()
    await search.catalogue_changed(snapshot, after)
    answer = await search.ask(SearchRequest((f"feed zebra{number}",)))
    if tool not in answer.tools:
        raise SystemExit(f"{tool} was not found")
    spent = time.process_time() - began
    await search.catalogue_changed(after, snapshot)
    return 1000 * spent


async def keep_catalogue(home: Path, snapshot: Snapshot) -> None:
    """Put the catalogue where the command looks for it."""
    async with open_store(CribSettings(home=home)) as store:
        changes = [
            change
            for tool in snapshot.tools.values()
            for record in tool.versions.values()
            for change in (
                AllocateName(tool.id, tool.published_name),
                AddVersion(record),
                SetStatus(tool.id, record.version, ACTIVE),
                SetHead(tool.id, record.version),
            )
        ]
        await store.commit(changes, 0)


def cold(home: Path) -> tuple[float, float]:
    """Wall-clock and CPU milliseconds of `toolcrib search` in a fresh process; best of five."""
    command = [
        *(sys.executable, "-c", "from toolcrib_adapters.command import main; main()"),
        *("search", "--home", str(home), "send the invoice to my customer"),
    ]
    spent = []
    for _ in range(5):
        began, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
        spent.append((1000 * (time.perf_counter() - began), 1000 * cpu))
    return min(spent)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tools", type=int, nargs="+", default=[200, 4_000, 100_000])
    options = parser.parse_args()
    print("| tools | <= 12 words, p50 | p95 | 40 words, p50 | remembered | publish | cold, CPU |")
    print("|---|---|---|---|---|---|---|")
    for count in options.tools:
        with tempfile.TemporaryDirectory() as scratch:
            home = Path(scratch)
            (home / "index").mkdir()
            anyio.run(report, count, home)
            wall, cpu = cold(home)
            print(f" {wall:.0f}, {cpu:.0f} |", flush=True)
    print(f"encoding alone: {encoding():.2f} ms")


if __name__ == "__main__":
    main()
