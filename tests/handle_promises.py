"""What toolcrib promises of expressions and kept results; see `requirements.py`."""

from __future__ import annotations

from typing import Final

from tests.promise import Promise

HANDLES: Final[tuple[Promise, ...]] = (
    Promise(
        "expression-values",
        "An expression over JSON values gives a JSON value: paths, slices, comprehensions, "
        "arithmetic with integers of any length, a fixed list of functions.",
        "issue 4, section 3",
    ),
    Promise(
        "expression-faults",
        "A key, name, item or type that does not fit is a fault that names what was met and what "
        "to write instead; a missing key is never taken for null.",
        "issue 4, section 3",
    ),
    Promise(
        "expression-spelling",
        "Habits of other languages are read (`&&`, `null`, `===`, `$.`) or answered with the form "
        "that works.",
        "issue 4, section 3",
    ),
    Promise(
        "expression-reads",
        "What an expression may read is told from its text alone.",
        "issue 4, section 3",
    ),
    Promise(
        "expression-templates",
        "`${...}` alone keeps its type and becomes text inside a text; results are never looked "
        "through again; `{{...}}` is pointed out.",
        "issue 4, section 3",
    ),
    Promise(
        "expression-bounds",
        "No expression leaves the language, runs long or makes much: it ends in a value, or in an "
        "error that says why.",
        "issue 4, section 3",
    ),
    Promise(
        "expression-documented",
        "Every function of the language is in its documentation.",
        "issue 4, section 3",
    ),
    Promise(
        "sealed-at-rest",
        "What is stored of results can be read and changed by nobody without the key ring, and "
        "outlives two rotations of it.",
        "issue 4, section 3",
    ),
    Promise(
        "handle-expiry",
        "A kept result is gone when its time is over, also one that was never finished.",
        "issue 4, section 3",
    ),
)
