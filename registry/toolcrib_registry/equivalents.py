"""Which tools may answer in place of another one, and why.

Some are declared: by the tool's contract, or by the operator's rules. Others are derived, and only
where nothing speaks against it: both tools only read, they share a group, their names are made of
the same words, they need the same arguments, the other's results have all that this one promises,
and their descriptions have words in common. A tool that needs no argument is never derived: it
tells of its own source ("list projects"), and another source has other projects. Measured on 2,963
real tools of 105 servers taken as one group: among tools of one server the likest in words are
siblings (`list_branches`, `list_protected_branches`: 0.96 of the words), so likeness alone derives
wrong pairs only; these rules derive nothing there as the tools declare themselves, and three right
pairs if all are taken as only reading. Vectors told right and wrong pairs apart no better than
words. Pure; `fallback.py` calls them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.names import Reference
from toolcrib_registry.call_rules import rules_for
from toolcrib_registry.search_text import spaced, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from toolcrib_protocol.call_rules import CallRules
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.names import ToolId
    from toolcrib_protocol.tool import Contract
    from toolcrib_protocol.version import Version
    from toolcrib_registry.records import VersionRecord
    from toolcrib_registry.snapshot import Snapshot

LEAST_LIKENESS: Final = 0.15
"""How much of the words of both descriptions has to be in both."""
MOST_EQUIVALENTS: Final = 5
_LONGEST_DESCRIPTION: Final = 2_000
_SEPARATE: Final = re.compile(r"\s+")


class Grounds(StrEnum):
    """Who says that a tool may answer in place of another."""

    CONTRACT = "declared by the contract"
    RULES = "approved by the operator"
    DERIVED = "derived: same group, name, arguments and results"


@dataclass(frozen=True, slots=True)
class Equivalent:
    """A tool that may answer in place of another."""

    record: VersionRecord
    grounds: Grounds

    @property
    def is_declared(self) -> bool:
        """Whether a person said so."""
        return self.grounds is not Grounds.DERIVED


def equivalents_of(
    snapshot: Snapshot, record: VersionRecord, rules: CallRules, names: SameNames
) -> tuple[Equivalent, ...]:
    """What may answer in place of a tool, the declared ones first.

    Args:
        snapshot: the catalogue.
        record: of the tool.
        rules: what the operator set for it.
        names: the index of this snapshot.
    """
    found: dict[ToolId, Equivalent] = {}
    declared = (
        *((text, Grounds.CONTRACT) for text in record.contract.equivalents),
        *((text, Grounds.RULES) for text in rules.equivalents or ()),
    )
    for text, grounds in declared:
        other = _live(snapshot, Reference.parse(text).tool)
        if other is not None and other.tool != record.tool and _is_no_worse(record, other):
            found.setdefault(other.tool, Equivalent(other, grounds))
    if record.contract.behaviour.read_only is True:
        for other in _derived(snapshot, record, names):
            found.setdefault(other.tool, Equivalent(other, Grounds.DERIVED))
    return tuple(found.values())[:MOST_EQUIVALENTS]


def _live(snapshot: Snapshot, tool: ToolId) -> VersionRecord | None:
    known = snapshot.tools.get(tool)
    return None if known is None else known.head


def _is_no_worse(record: VersionRecord, other: VersionRecord) -> bool:
    """Whether the other may not do more harm; also of a person who declares it."""
    mine, theirs = record.contract.behaviour, other.contract.behaviour
    if mine.read_only is True:
        return theirs.read_only is not False and theirs.destructive is not True
    return not (theirs.destructive is True and mine.destructive is not True)


def _derived(
    snapshot: Snapshot, record: VersionRecord, names: SameNames
) -> Iterator[VersionRecord]:
    for tool in names.of(record.tool):
        if tool == record.tool or not names.share_a_group(tool, record.tool):
            continue
        other = _live(snapshot, tool)
        if other is not None and why_not(record.contract, other.contract) is None:
            yield other


class SameNames:
    """The tools of one snapshot whose names are made of the same words, and their groups."""

    def __init__(self, snapshot: Snapshot) -> None:
        by_words: dict[frozenset[str], list[ToolId]] = {}
        for tool in snapshot.tools:
            by_words.setdefault(_name_words(tool.name), []).append(tool)
        self._of = {
            tool: tuple(sorted(tools))
            for tools in by_words.values()
            if len(tools) > 1
            for tool in tools
        }
        groups: dict[ToolId, set[str]] = {tool: {tool.group} for tool in self._of}
        for group in snapshot.groups.values():
            for tool in group.members:
                if tool in groups:
                    groups[tool].add(group.name)
        self._groups = groups

    def of(self, tool: ToolId) -> tuple[ToolId, ...]:
        """All tools of that name, itself among them; empty if it is the only one."""
        return self._of.get(tool, ())

    def share_a_group(self, one: ToolId, other: ToolId) -> bool:
        """Whether both are in one group."""
        return not self._groups[one].isdisjoint(self._groups[other])


class KnownEquivalents:
    """The equivalents of the tools of one snapshot, found when they are asked for."""

    def __init__(self) -> None:
        self._snapshot: Snapshot | None = None
        self._names: SameNames | None = None
        self._found: dict[tuple[ToolId, Version], tuple[Equivalent, ...]] = {}

    def of(self, snapshot: Snapshot, record: VersionRecord) -> tuple[Equivalent, ...]:
        """What may answer in place of a tool; what was found on another snapshot is forgotten."""
        if self._names is None or self._snapshot is not snapshot:
            self._snapshot, self._names, self._found = snapshot, SameNames(snapshot), {}
        key = (record.tool, record.version)
        found = self._found.get(key)
        if found is None:
            rules = rules_for(snapshot, record)
            found = self._found[key] = equivalents_of(snapshot, record, rules, self._names)
        return found


@lru_cache(maxsize=20_000)
def _name_words(name: str) -> frozenset[str]:
    # Not stems: `get_entry` gives something else than `get_entries`.
    return frozenset(_SEPARATE.split(spaced(name).casefold()))


def why_not(mine: Contract, other: Contract) -> str | None:
    """What speaks against the other answering in place of this tool; None if nothing does.

    Names and groups are compared before: see `SameNames`.
    """
    if not (mine.behaviour.read_only is True and other.behaviour.read_only is True):
        return "not both only read"
    if mine.behaviour.open_world is False and other.behaviour.open_world is True:
        return "the other reaches further"
    need, others_need = _required(mine.input_schema), _required(other.input_schema)
    if not need or need != others_need:
        return "they do not need the same arguments"
    mine_has, other_has = _properties(mine.input_schema), _properties(other.input_schema)
    for name in sorted(need):
        if not _takes(other_has.get(name), mine_has.get(name)):
            return f"the argument {name!r} is of another type"
    if not _covers(mine.output_schema, other.output_schema):
        return "its results lack what this tool promises"
    if likeness(mine.description, other.description) < LEAST_LIKENESS:
        return "their descriptions have too little in common"
    return None


def takes_all(record: VersionRecord, names: Mapping[str, Json]) -> bool:
    """Whether a tool knows all the arguments of a call."""
    return names.keys() <= _properties(record.contract.input_schema).keys()


def likeness(one: str, other: str) -> float:
    """How much of the words of two descriptions is in both, 0..1."""
    mine, theirs = (frozenset(words(text[:_LONGEST_DESCRIPTION])) for text in (one, other))
    return len(mine & theirs) / max(1, len(mine | theirs))


def _required(schema: JsonObject) -> frozenset[str]:
    required = schema.get("required")
    return frozenset(str(name) for name in required) if isinstance(required, list) else frozenset()


def _properties(schema: JsonObject) -> JsonObject:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _types(schema: Json) -> frozenset[str] | None:
    """The JSON types that a schema plainly names; None if it does not."""
    if not isinstance(schema, dict):
        return None
    told = schema.get("type")
    if isinstance(told, str):
        return frozenset({told})
    if isinstance(told, list):
        return frozenset(str(one) for one in told)
    return None


def _takes(taker: Json, giver: Json) -> bool:
    """Whether every type that `giver` names is one that `taker` names; unclear is no."""
    taken, given = _types(taker), _types(giver)
    if taken is None or given is None:
        return False
    return all(one in taken or (one == "integer" and "number" in taken) for one in given)


def _covers(mine: JsonObject | None, other: JsonObject | None) -> bool:
    if mine is None:
        # Text for text; who promises structure gives its callers something else.
        return other is None
    if other is None:
        return False
    has, other_has = _properties(mine), _properties(other)
    return (
        bool(has)
        and _required(mine) <= _required(other)
        and all(name in other_has and _takes(part, other_has[name]) for name, part in has.items())
    )
