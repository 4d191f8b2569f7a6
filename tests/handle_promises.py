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
    Promise(
        "field-o14-large-results",
        "Results of megabytes are cut for the model and kept whole: read by range, path or "
        "filter, with bounded memory, several at once.",
        "O-14",
    ),
    Promise(
        "handle-cap",
        "A result over the limit of its rule, its tool or 25,000 bytes is delivered as a preview; "
        "what fits passes untouched.",
        "issue 4, section 3",
    ),
    Promise(
        "handle-preview",
        "The answer tells the size, the shape, a preview, the handle, until when, and how to read "
        "on.",
        "issue 4, section 3",
    ),
    Promise(
        "handle-no-twins",
        "Structured content and the text that repeats it are kept once and never both delivered.",
        "issue 4, section 3",
    ),
    Promise(
        "handle-blocks",
        "Content blocks stay blocks, in their order; pictures and links are kept and read as such.",
        "issue 4, section 3",
    ),
    Promise(
        "handle-whole",
        "A program may take results of any size; the endpoint of one group shows them as its "
        "source does.",
        "issue 4, section 3",
    ),
    Promise(
        "handle-lists",
        "The results of a list of calls share a limit.",
        "issue 4, section 3",
    ),
    Promise(
        "handle-strict-clients",
        "A client that insists on structured content gets an excerpt that fits the schema.",
        "issue 4, section 3",
    ),
    Promise(
        "handle-ceilings",
        "What is kept is bounded for a caller and in all; beyond it the answer says why nothing "
        "is kept.",
        "issue 4, section 3",
    ),
    Promise(
        "handle-reading",
        "A path, a filter or a range picks a part of a kept result; reading is bounded and says "
        "where it goes on.",
        "issue 4, section 3",
    ),
    Promise(
        "handle-access",
        "A handle is its caller's alone, while the tool may be used; unknown, expired, foreign "
        "and forbidden look the same.",
        "issue 4, section 3",
    ),
    Promise(
        "handle-arguments",
        "A handle in the arguments of a call is replaced at the crib by what it stands for, and "
        "checked like any argument.",
        "issue 4, section 3",
    ),
    Promise(
        "handle-crossing",
        "What one source said goes to another group's source only where the operator allows it.",
        "issue 4, section 3",
    ),
    Promise(
        "client-kept-results",
        "A program takes whole results or reads in kept ones; a model's tool call gets the "
        "preview, and handles go from tool to tool.",
        "issue 4, section 3",
    ),
    Promise(
        "cli-read",
        "`toolcrib read` prints a kept result or a part of it; what cannot be read is refused "
        "with what would be right.",
        "issue 4, section 3",
    ),
)
