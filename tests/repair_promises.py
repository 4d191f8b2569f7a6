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
)
