"""English words without the endings that questions and descriptions differ in.

"booked", "booking" and "books" ask for what "book" offers. Cuts little on purpose: endings that
change the meaning ("-er", "-ation") stay, because every further one lost as often as it won when we
measured. Both sides of a comparison are cut alike, so a stem need not be a word. Used by
`search_text`.
"""

from __future__ import annotations

from typing import Final

_SHORTEST_PLURAL: Final = 3
_SHORTEST_CUT: Final = 4
_SHORTEST_STEM: Final = 3
_KEPT_DOUBLE: Final = frozenset("aeiouls")


def stem(word: str) -> str:
    """What the forms of a folded word share; other scripts stay as they are."""
    if not word.isascii():
        return word
    word = _singular(word)
    if len(word) <= _SHORTEST_CUT:
        return word
    word = _without_ending(word)
    return word[:-1] if len(word) > _SHORTEST_CUT and word.endswith("e") else word


def _singular(word: str) -> str:
    """Plural and singular meet in one form (Harman's S-stemmer, 1991)."""
    if len(word) <= _SHORTEST_PLURAL or not word.endswith("s"):
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    return word if word.endswith(("us", "ss")) else word[:-1]


def _without_ending(word: str) -> str:
    if word.endswith("ied"):
        return word[:-3] + "y"
    if word.endswith("eed"):
        return word
    cut = word[:-3] if word.endswith("ing") else word.removesuffix("ed")
    if cut == word or len(cut) < _SHORTEST_STEM or not any(c in "aeiouy" for c in cut):
        return word
    is_doubled = cut[-1] == cut[-2] and cut[-1] not in _KEPT_DOUBLE
    return cut[:-1] if is_doubled else cut
