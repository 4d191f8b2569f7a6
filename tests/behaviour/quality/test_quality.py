"""How well search does on our own catalogue: a gate against slow decay, not a benchmark.

The thresholds lie a little below what was measured when they were set; raise them when search gets
better. Public sets are measured by `benchmarks/retrieval.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.behaviour.quality.catalogue import catalogue
from tests.behaviour.quality.requests import CHINESE, ENGLISH, UNSERVED
from tests.registry.shelf import Shelf, open_shelf

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.promise("search-quality")


@pytest.fixture(scope="module")
async def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return await open_shelf(tmp_path_factory.mktemp("quality"), *catalogue())


async def shares(shelf: Shelf, requests: Mapping[str, str]) -> tuple[float, float]:
    """The share of requests whose tool came first, and among the first five."""
    first, five = [], []
    for asked, wanted in requests.items():
        hits = [str(hit.tool) for hit in (await shelf.ask(asked)).queries[0].hits]
        first.append(hits[:1] == [wanted])
        five.append(wanted in hits)
        if wanted not in hits:
            print(f"{asked!r}: wanted {wanted}, found {hits}")
    print(f"first {sum(first)}/{len(first)}, in five {sum(five)}/{len(five)}")
    return sum(first) / len(first), sum(five) / len(five)


async def test_english_requests_find_their_tool(shelf: Shelf) -> None:
    # Measured: 43 of 70 first, 64 of 70 in five. (Three more came first while words counted less;
    # twelve public sets decided otherwise.)
    first, five = await shares(shelf, ENGLISH)
    assert first >= 0.58
    assert five >= 0.90


async def test_chinese_requests_find_their_tool(shelf: Shelf) -> None:
    # Measured: 40 of 40; the tools say in Chinese what they are for.
    first, five = await shares(shelf, CHINESE)
    assert first >= 0.92
    assert five >= 0.97


async def test_what_nothing_serves_finds_nothing_or_says_that_it_is_doubtful(shelf: Shelf) -> None:
    surely = 0
    for asked in UNSERVED:
        hits = (await shelf.ask(asked)).queries[0].hits
        surely += bool(hits) and not hits[0].why.startswith("weak")
        print(asked, [(str(hit.tool), hit.why) for hit in hits[:2]])
    assert surely <= 1


def test_the_catalogue_is_as_large_as_it_is_said_to_be() -> None:
    ids = {str(contract.id) for contract in catalogue()}
    assert len(ids) >= 55
    assert {*ENGLISH.values(), *CHINESE.values()} <= ids
    assert len(CHINESE) * 3 >= len(ENGLISH) + len(CHINESE) >= 110
