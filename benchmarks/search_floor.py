"""How well "nothing fits" tells unrelated queries from answerable ones.

    python -m benchmarks.search_floor DATA_PATH [--home FOLDER]

Asks four specialised catalogues their own queries, and the queries of sets about other matters
(films asked of a cloud's tools, cloud matters asked of a music player). Prints what share of each
gets no hits, only weak hits, or good hits, and the AUC of similarity plus half the covered share of
words. The constants in `toolcrib_registry.ranking` were chosen from these figures.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import numpy as np

from benchmarks.retrieval import indexed
from benchmarks.retrieval_sets import RetrievalSet
from toolcrib_registry.questions import SearchRequest

if TYPE_CHECKING:
    from toolcrib_registry.search import Search

UNRELATED: Final = {
    "azure_mcp": ["restbench_tmdb", "restbench_spotify", "metatool_single", "toolalpaca_real"],
    "restbench_tmdb": ["azure_mcp", "mcptoolbenchpp", "ultratool_en", "toolalpaca_real"],
    "restbench_spotify": ["azure_mcp", "mcptoolbenchpp", "ultratool_en", "toolalpaca_real"],
    "mcptoolbenchpp": ["azure_mcp", "restbench_spotify", "toolalpaca_real"],
}
QUERIES: Final = 200


async def verdicts(search: Search, queries: RetrievalSet) -> Counter[str]:
    """How many queries get no, weak and good hits."""
    counted: Counter[str] = Counter()
    for query in queries.queries:
        hits = (await search.ask(SearchRequest((query.text,)))).queries[0].hits
        weak = bool(hits) and hits[0].why.startswith("weak")
        counted["weak" if weak else "good" if hits else "none"] += 1
    return counted


def line(label: str, counted: Counter[str]) -> str:
    total = sum(counted.values())
    cells = [f"{100 * counted[verdict] / total:.1f}" for verdict in ("none", "weak", "good")]
    return f"| {label} | {total} | {' | '.join(cells)} |"


def auc(answerable: Counter[str], unrelated: Counter[str]) -> float:
    """The chance that an answerable query gets a better verdict than an unrelated one."""
    order = np.array([1.0, 2.0, 3.0])
    mine, other = (
        np.array([counted[verdict] for verdict in ("none", "weak", "good")]) / sum(counted.values())
        for counted in (answerable, unrelated)
    )
    better = order[:, None] > order[None, :]
    same = order[:, None] == order[None, :]
    return float((np.outer(mine, other) * (better + 0.5 * same)).sum())


async def main(data_path: Path, home: Path) -> None:
    names = sorted({*UNRELATED, *(name for names in UNRELATED.values() for name in names)})
    sets = {name: RetrievalSet.read(data_path / name, QUERIES) for name in names}
    print("| queries | number | none % | weak % | good % |")
    print("|---|---|---|---|---|")
    answerable: Counter[str] = Counter()
    unrelated: Counter[str] = Counter()
    for name, others in UNRELATED.items():
        search = await indexed(sets[name].snapshot, home / name, "default", name)
        mine = await verdicts(search, sets[name])
        foreign = sum([await verdicts(search, sets[other]) for other in others], Counter())
        print(line(f"{name}: its own", mine), line(f"{name}: unrelated", foreign), sep="\n")
        answerable += mine
        unrelated += foreign
    print(line("all: answerable", answerable), line("all: unrelated", unrelated), sep="\n")
    print(f"\nAUC of the three verdicts: {auc(answerable, unrelated):.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data_path", type=Path)
    parser.add_argument("--home", type=Path, help="keeps the indexes between runs")
    with tempfile.TemporaryDirectory() as scratch:
        given = parser.parse_args()
        anyio.run(main, given.data_path, given.home or Path(scratch))
