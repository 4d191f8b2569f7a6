"""Which tools a query names.

A model that knows a name from earlier asks for it by name, in whatever spelling; those tools must
not be lost to better-worded ones. Rows only: which tool a row is, is the index's business. Used by
`search_index` (which keeps the spellings) and `search` (which asks).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolcrib_registry.search_text import spelling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_LONGEST_NAME_WORDS: Final = 8
_SHORTEST_PREFIX: Final = 4
_MOST_PREFIXED: Final = 20
"""A beginning that fits more names than this says nothing."""


class Spellings:
    """The names of all rows, without case, accents and separators."""

    def __init__(self) -> None:
        self._rows: dict[str, list[int]] = defaultdict(list)
        self._names: dict[int, tuple[str, ...]] = {}
        self._ordered: list[str] | None = None

    def put(self, row: int, names: Iterable[str]) -> None:
        """The names of a row that has none yet."""
        spelt = tuple({spelling(name) for name in names} - {""})
        self._names[row] = spelt
        for name in spelt:
            self._rows[name].append(row)
        self._ordered = None

    def remove(self, row: int) -> None:
        """Forget a row."""
        for name in self._names.pop(row, ()):
            self._rows[name].remove(row)
            if not self._rows[name]:
                del self._rows[name]
        self._ordered = None

    def exactly(self, spelt: str) -> Sequence[int]:
        """The rows that have this name."""
        return self._rows.get(spelt, ())

    def beginning(self, spelt: str) -> Sequence[int]:
        """The rows whose name begins like this; none if too many do."""
        if len(spelt) < _SHORTEST_PREFIX:
            return ()
        if self._ordered is None:
            self._ordered = sorted(self._rows)
        first = bisect_left(self._ordered, spelt)
        names = self._ordered[first : first + _MOST_PREFIXED + 1]
        fitting = [name for name in names if name.startswith(spelt)]
        rows = list(dict.fromkeys(row for name in fitting for row in self._rows[name]))
        return rows if len(fitting) <= _MOST_PREFIXED >= len(rows) else ()


@dataclass(frozen=True, slots=True)
class NamedTools:
    """Tools whose names stand in a query.

    Attributes:
        first: rows that the query names on purpose, in the query's order: they come first.
        kept: rows whose names occur in a sentence, or begin like a name in it: they keep a place.
    """

    first: tuple[int, ...] = ()
    kept: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Mention:
    rows: Sequence[int]
    words: int
    is_told: bool
    is_long: bool


def named_in(query: str, spellings: Spellings, allowed: Callable[[int], bool]) -> NamedTools:
    """The tools that `query` names, in any spelling.

    A name is meant on purpose where the query is nothing but names, or where it is written as
    programs write it (`search_graph`, `fetchEmails`). A name of several plain words inside a
    sentence only keeps its place; a name of one plain word inside a sentence is just a word.
    """
    tokens = query.split()
    mentions = _mentions(tokens, spellings)
    is_all_names = sum(mention.words for mention in mentions) == len(tokens)
    first = [row for m in mentions if m.is_told or is_all_names for row in m.rows]
    kept = [row for m in mentions if m.is_long for row in m.rows]
    kept += _begun(tokens, spellings)
    is_seen = set(filter(allowed, {*first, *kept}))
    first = [row for row in dict.fromkeys(first) if row in is_seen]
    return NamedTools(
        tuple(first), tuple(r for r in dict.fromkeys(kept) if r in is_seen and r not in first)
    )


def _mentions(tokens: Sequence[str], spellings: Spellings) -> list[_Mention]:
    """The names in a query, the longest at each place, none inside another."""
    spelt = [spelling(token) for token in tokens]
    found = []
    start = 0
    while start < len(tokens):
        words, rows = _longest_name(spelt, start, spellings)
        if words:
            first = tokens[start]
            is_told = words == 1 and _is_program_text(first)
            found.append(_Mention(rows, words, is_told, words > 1 or "-" in first))
        start += max(words, 1)
    return found


def _longest_name(
    spelt: Sequence[str], start: int, spellings: Spellings
) -> tuple[int, Sequence[int]]:
    for length in range(min(_LONGEST_NAME_WORDS, len(spelt) - start), 0, -1):
        rows = spellings.exactly("".join(spelt[start : start + length]))
        if rows:
            return length, rows
    return 0, ()


def _begun(tokens: Sequence[str], spellings: Spellings) -> list[int]:
    """Rows whose name begins like a word that is written as programs write names."""
    begun = [token for token in tokens if _is_program_text(token)][:_LONGEST_NAME_WORDS]
    return [row for token in begun for row in spellings.beginning(spelling(token))]


def _is_program_text(token: str) -> bool:
    # Capitals alone do not make a name: people write "API" and "DAILY", and "e-mail" with a dash.
    inner = token.strip("`'\"()[],.:;!?")
    return "_" in inner or "/" in inner or _CAMEL.search(inner) is not None


_CAMEL: Final = re.compile(r"[a-z0-9][A-Z]")
