"""What toolcrib promises of rules for calls and the repair of arguments."""

from __future__ import annotations

from typing import Final

from tests.promise import Promise

REPAIR: Final = (
    Promise(
        "cli-rules",
        "Rules for the calls of a tool, a group or a source are set, shown and dropped from the "
        "command line; what cannot be is refused with what would be right.",
        "issue 4, section 2",
    ),
    Promise(
        "repair-kinds",
        "Arguments of another type, spelling or wrapping are repaired where only one thing can be "
        "meant, and checked again.",
        "issue 4, section 2",
    ),
    Promise(
        "repair-refuses",
        "Missing arguments, synonyms, unrelated values, and what could be meant in two ways are "
        "refused, never guessed.",
        "issue 4, section 2",
    ),
    Promise(
        "repair-recorded",
        "What was repaired is told in the `_meta` of the result.",
        "issue 4, section 2",
    ),
    Promise(
        "repair-modes",
        "How much is repaired is set for a tool, a group or a source: repair, strict or off.",
        "issue 4, section 2",
    ),
    Promise(
        "repair-destructive",
        "A call that may destroy something is made with no argument that was guessed; the refusal "
        "says which arguments would fit.",
        "issue 4, section 2",
    ),
    Promise(
        "repair-doubtful",
        "A number whose comma means something else elsewhere is repaired only for tools that read.",
        "issue 4, section 2",
    ),
    Promise(
        "repair-rejection",
        "A source's own refusal that names an argument and a type leads to other arguments of the "
        "same meaning, if they fit the published schema.",
        "issue 4, section 3",
    ),
    Promise(
        "field-o09-text",
        "Arguments as JSON text, or wrapped once more, are understood as the schema allows; an "
        "emptied object is never forwarded.",
        "field case O-09",
    ),
)
