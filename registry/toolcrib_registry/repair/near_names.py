"""Which known name a misspelt one stands for, if it can only be one.

Made for typing errors: another case or separator, a letter too many, too few, or two in the wrong
order. Synonyms, other digits and other beginnings are other names.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

NEAR: Final = 0.80
"""How similar a misspelt name has to be (of 1), and how much more than to any other one; both
measured on 20,000 faulty calls made from BFCL's."""
AHEAD: Final = 0.10
_LONGEST: Final = 100
_MOST: Final = 500
_SEPARATORS: Final = re.compile(r"[\W_]+")
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")
_DIGITS: Final = re.compile(r"\d+")
_SHORT: Final = 3
_SWAPPED: Final = 3
"""From so many letters on, two neighbours in the wrong order are a slip."""


def folded(name: str) -> str:
    """The name without case and separators."""
    return _SEPARATORS.sub("", name).casefold()


def same_name(name: str, known: Iterable[str]) -> str | None:
    """The only known name that is the same without case and separators."""
    wanted = folded(name)
    found = [other for other in known if folded(other) == wanted] if wanted else []
    return found[0] if len(found) == 1 else None


def near_name(name: str, known: Iterable[str]) -> str | None:
    """The only known name that `name` can be a misspelling of."""
    others = list(known)
    if len(name) > _LONGEST or len(others) > _MOST:
        return None
    ranked = sorted(((_likeness(name, other), other) for other in others), reverse=True)
    if not ranked or ranked[0][0] < NEAR:
        return None
    if len(ranked) > 1 and ranked[0][0] - ranked[1][0] < AHEAD:
        return None
    best = ranked[0][1]
    if sum(_is_one_edit_from(name, other) for other in others) > 1:
        return None
    return best if _is_misspelling(name, best) else None


def near_value(text: str, known: Iterable[str]) -> str | None:
    """The only listed value that `text` can be a misspelling of; short ones are codes."""
    found = near_name(text, known)
    return found if found is not None and len(folded(found)) > _SHORT else None


def _is_one_edit_from(name: str, other: str) -> bool:
    """Whether one letter more, less, other, or two neighbours exchanged make one of the other."""
    mine, theirs = folded(name), folded(other)
    while mine and theirs and mine[0] == theirs[0]:
        mine, theirs = mine[1:], theirs[1:]
    while mine and theirs and mine[-1] == theirs[-1]:
        mine, theirs = mine[:-1], theirs[:-1]
    is_swap = len(mine) == 2 and mine == theirs[::-1]  # noqa: PLR2004 - two neighbours
    return is_swap or max(len(mine), len(theirs)) <= 1


def _likeness(name: str, other: str) -> float:
    mine, theirs = folded(name), folded(other)
    if len(mine) >= _SWAPPED and sorted(mine) == sorted(theirs):
        odd = [at for at in range(len(mine)) if mine[at] != theirs[at]]
        if len(odd) == 2 and odd[1] == odd[0] + 1:  # noqa: PLR2004 - two neighbours
            return 1.0
    # In one fixed order, for the measure is not symmetric.
    return SequenceMatcher(None, theirs, mine, autojunk=False).ratio()


def _is_misspelling(name: str, other: str) -> bool:
    """Whether the difference looks like a slip, and not like another word."""
    mine, theirs = folded(name), folded(other)
    if _DIGITS.findall(mine) != _DIGITS.findall(theirs):
        return False
    if mine[:1] != theirs[:1] and mine[:2] != theirs[1::-1] and not _lost_its_first(mine, theirs):
        # `active` and `inactive`, `ascending` and `descending`.
        return False
    return not _differs_in_a_short_part(name, other)


def _lost_its_first(mine: str, theirs: str) -> bool:
    """Whether only the first letter was lost; `sync` is not what is left of `async`."""
    return len(mine) > _SHORT and theirs[1:] == mine and theirs[:1] != "a"


def _differs_in_a_short_part(name: str, other: str) -> bool:
    """Whether a whole short word was exchanged: `source_ip` and `source_id`."""
    mine = [part.casefold() for part in _PARTS.findall(name)]
    theirs = [part.casefold() for part in _PARTS.findall(other)]
    if len(mine) != len(theirs) or len(mine) == 1:
        return False
    return any(
        a != b and len(a) == len(b) and len(a) <= _SHORT and sorted(a) != sorted(b)
        for a, b in zip(mine, theirs, strict=True)
    )
