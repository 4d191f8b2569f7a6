"""How often the right tool is found, per set, against the floors we hold.

    python -m benchmarks.retrieval DATA_PATH [--sets NAME ...] [--home FOLDER] [--encoder NAME]

DATA_PATH holds one folder a set (`benchmarks/retrieval_sets.py` says what is in it). Asks through
the public door, with the shipped recipe, ten hits a query; prints a Markdown table and ends with 1
if a set lies below its floor. Making the vectors of all sets takes some minutes; `--home` keeps
them. Chinese sets are shown and not held: the shipped encoder is English.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio

from benchmarks.retrieval_sets import QUERIES, RetrievalSet, Scores
from toolcrib_adapters.search.engine import open_search
from toolcrib_registry.questions import SearchRequest

if TYPE_CHECKING:
    from toolcrib_registry.search import Search
    from toolcrib_registry.snapshot import Snapshot

FLOORS: Final = {
    "metatool_single": Scores(52.7, 77.0, 67.9, 83.8),
    "metatool_multi": Scores(33.4, 77.2, 73.8, 75.1),
    "stabletoolbench": Scores(33.0, 71.9, 72.7, 68.8),
    "sealtools_out": Scores(39.0, 88.0, 91.3, 85.9),
    "bfcl_live": Scores(70.1, 84.3, 79.9, 90.5),
    "restbench_tmdb": Scores(26.1, 47.5, 52.2, 36.8),
    "mcptoolbenchpp": Scores(82.3, 99.4, 92.0, 100.0),
    "ultratool_en": Scores(36.6, 74.7, 73.9, 72.9),
}
"""Measured with the same recipe; `ultratool_*` on more queries than the public part has."""
HARDER: Final = {"ultratool_en": (4.1, 2.4)}
"""R@5 and nDCG@10 by which the unmodified model alone does worse on the public part than on all."""
CHINESE: Final = {"ultratool_zh": Scores(37.2, 73.4, 72.5, 68.0)}
_NOISE: Final = 1.0
"""Points that R@5 and nDCG@10 may lie below the floor: it was measured on another sample."""


async def indexed(snapshot: Snapshot, home: Path, encoder: str, label: str) -> Search:
    """A search over `snapshot` with every vector made."""
    search = await open_search(home, encoder)
    await search.open(snapshot)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(search.run)
        async for done, total in search.building():
            print(f"\r{label}: {done} of {total} vectors ", end="", file=sys.stderr)
        tasks.cancel_scope.cancel()
    await search.save()
    return search


async def measured(found: RetrievalSet, search: Search) -> Scores:
    """The mean scores of a set's queries."""
    scores = []
    for query in found.queries:
        answer = await search.ask(SearchRequest((query.text,), limit=10))
        scores.append(Scores.of([hit.tool for hit in answer.queries[0].hits], query.slots))
    return Scores.mean(scores)


def row(name: str, tools: int, scores: Scores, floor: Scores | None) -> str:
    """A line of the table."""
    cells = []
    for figure in ("recall_1", "recall_5", "ndcg_10", "complete_10"):
        told = "" if floor is None else f" ({getattr(floor, figure)})"
        cells.append(f"{getattr(scores, figure):.1f}{told}")
    return f"| {name} | {tools:,} | {' | '.join(cells)} |"


def is_below(name: str, scores: Scores) -> bool:
    """Whether a set that is held lies below its floor in R@5 or nDCG@10."""
    floor = FLOORS.get(name)
    if floor is None:
        return False
    recall, ndcg = HARDER.get(name, (0.0, 0.0))
    return (
        scores.recall_5 < floor.recall_5 - recall - _NOISE
        or scores.ndcg_10 < floor.ndcg_10 - ndcg - _NOISE
    )


async def main(options: argparse.Namespace, home: Path) -> int:
    print("| set | tools | R@1 (floor) | R@5 (floor) | nDCG@10 (floor) | Comp@10 (floor) |")
    print("|---|---|---|---|---|---|", flush=True)
    below = []
    for name in options.sets:
        found = RetrievalSet.read(options.data_path / name, options.queries)
        search = await indexed(found.snapshot, home / name, options.encoder, name)
        floor = (FLOORS | CHINESE).get(name)
        scores = await measured(found, search)
        print(row(name, len(found.snapshot.tools), scores, floor), flush=True)
        if is_below(name, scores):
            below.append(name)
    if below:
        print(f"below the floor: {', '.join(below)}", file=sys.stderr)
    return 1 if below else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data_path", type=Path)
    parser.add_argument("--sets", nargs="+", default=[*FLOORS, *CHINESE])
    parser.add_argument("--home", type=Path, help="keeps the indexes between runs")
    parser.add_argument("--encoder", default="default")
    parser.add_argument("--queries", type=int, default=QUERIES, help="at most so many a set")
    with tempfile.TemporaryDirectory() as scratch:
        given = parser.parse_args()
        sys.exit(anyio.run(main, given, given.home or Path(scratch)))
