"""Sets of tools and labelled queries for measuring search, and how a ranking is scored.

A set is a folder with `tools.jsonl` (`{id, name, description, input_schema?, group?}`) and
`queries.jsonl` (`{qid, query, gold: [ids], equiv?, alt?, alt_any?, lang}`). Each gold id is a slot
that any of its equivalents fills; `alt` adds slots, each of alternatives; `alt_any` replaces all
slots by one. A slot is filled once. Used by the benchmarks `retrieval` and `search_floor`; the data
are not ours and not part of the project.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from toolcrib_protocol.names import ToolId, published_name, slug
from toolcrib_protocol.tool import Contract
from toolcrib_protocol.version import FIRST_VERSION
from toolcrib_registry.changes import AddVersion, AllocateName, Change, SetHead, SetStatus
from toolcrib_registry.records import StatusRecord, VersionRecord
from toolcrib_registry.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

QUERIES: Final = 1_000
_SEED: Final = 0
ACTIVE: Final = StatusRecord("active")
_NO_GROUP: Final = "api"


@dataclass(frozen=True, slots=True)
class Query:
    """A text, and the slots that its answer should fill: of each set of tools, one is enough."""

    text: str
    slots: tuple[frozenset[ToolId], ...]


@dataclass(frozen=True, slots=True)
class RetrievalSet:
    """A catalogue and what is asked of it."""

    name: str
    snapshot: Snapshot
    queries: tuple[Query, ...]

    @classmethod
    def read(cls, folder: Path, most: int = QUERIES) -> RetrievalSet:
        """The set in `folder`, with at most `most` of its queries (always the same ones)."""
        entries = list(_lines(folder / "tools.jsonl"))
        contracts = _contracts(entries)
        ids = {e["id"]: contract.id for e, contract in zip(entries, contracts, strict=True)}
        queries = [_query(entry, ids) for entry in _lines(folder / "queries.jsonl")]
        if len(queries) > most:
            queries = random.Random(_SEED).sample(queries, most)
        return cls(folder.name, snapshot_of(contracts), tuple(queries))


def snapshot_of(contracts: Sequence[Contract]) -> Snapshot:
    """A catalogue in which each of `contracts` answers."""
    changes: list[Change] = []
    taken: set[str] = set()
    for contract in contracts:
        tool = contract.id
        name = published_name(tool, taken)
        taken.add(name)
        changes += [
            AllocateName(tool, name),
            AddVersion(VersionRecord.of(contract, contract.group, contract.name)),
            SetStatus(tool, FIRST_VERSION, ACTIVE),
            SetHead(tool, FIRST_VERSION),
        ]
    return Snapshot().with_changes(changes, 1)


def _lines(path: Path) -> Iterator[Mapping[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _contracts(entries: Sequence[Mapping[str, Any]]) -> list[Contract]:
    """The contract of each entry; a name that its group has already goes to the next group."""
    seen: Counter[ToolId] = Counter()
    contracts = []
    for entry in entries:
        group = slug(entry.get("group") or _NO_GROUP)
        tool = ToolId(group, entry["name"])
        seen[tool] += 1
        contracts.append(_contract(entry, group if seen[tool] == 1 else f"{group}-{seen[tool]}"))
    return contracts


def _contract(entry: Mapping[str, Any], group: str) -> Contract:
    return Contract(
        group=group,
        name=entry["name"],
        description=entry.get("description") or "",
        input_schema=entry.get("input_schema") or {},
    )


def _query(entry: Mapping[str, Any], ids: Mapping[str, ToolId]) -> Query:
    equal = entry.get("equiv") or {}
    slots = [[gold, *equal.get(gold, [])] for gold in entry["gold"]]
    slots += entry.get("alt") or []
    if entry.get("alt_any"):
        slots = [entry["alt_any"]]
    return Query(entry["query"], tuple(frozenset(ids[i] for i in slot) for slot in slots))


@dataclass(frozen=True, slots=True)
class Scores:
    """Of one ranking, or the mean of many, in percent."""

    recall_1: float
    recall_5: float
    ndcg_10: float
    complete_10: float

    @classmethod
    def of(cls, ranking: Sequence[ToolId], slots: Sequence[frozenset[ToolId]]) -> Scores:
        """How well `ranking` fills `slots`."""
        filled = _filled_at(ranking, slots)
        ideal = sum(1 / math.log2(place + 1) for place in range(1, min(len(slots), 10) + 1))
        gain = sum(1 / math.log2(place + 1) for place in filled if place <= 10)
        recall = {k: sum(place <= k for place in filled) / len(slots) for k in (1, 5, 10)}
        return cls(100 * recall[1], 100 * recall[5], 100 * gain / ideal, 100.0 * (recall[10] == 1))

    @classmethod
    def mean(cls, scores: Sequence[Scores]) -> Scores:
        """The mean of each figure."""
        columns = zip(
            *((s.recall_1, s.recall_5, s.ndcg_10, s.complete_10) for s in scores), strict=True
        )
        return cls(*(sum(column) / len(scores) for column in columns))


def _filled_at(ranking: Sequence[ToolId], slots: Sequence[frozenset[ToolId]]) -> list[int]:
    """The places at which a slot that was empty is filled; the narrowest slot first."""
    empty = sorted(slots, key=len)
    places = []
    for place, tool in enumerate(ranking, 1):
        slot = next((slot for slot in empty if tool in slot), None)
        if slot is not None:
            empty.remove(slot)
            places.append(place)
    return places
