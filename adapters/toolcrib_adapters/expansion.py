"""`${NAME}` in the settings of sources: the one place where secrets come in.

`${NAME}` is the variable, `${NAME:-default}` the variable or a default, `$$` a dollar sign. What is expanded never reaches the
database, a log, a state or an error: `Secrets` finds and hides it in texts that come back from outside.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import INVALID_SETTINGS, ErrorKind, ToolError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PLACE: Final = re.compile(r"\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_SHORTEST_SECRET: Final = 6
"""Shorter values (`1`, `true`, `admin`) are too common in ordinary text to be blanked out everywhere."""


def expand(text: str, environment: Mapping[str, str]) -> str:
    """`text` with its variables filled in.

    Raises:
        ToolError: `invalid_settings`, naming the variable that is not set (and nothing else).
    """

    def value(match: re.Match[str]) -> str:
        name, default = match.groups()
        if name is None:
            return "$"
        found = environment.get(name, default)
        if found is None:
            raise ToolError(
                INVALID_SETTINGS,
                f"the environment variable {name} is not set; set it, or write ${{{name}:-default}}",
                ErrorKind.NEEDS_HUMAN,
            )
        return found

    return _PLACE.sub(value, text)


class Secrets:
    """Values that may be secret, and how to keep them out of texts."""

    def __init__(self, values: Iterable[str]) -> None:
        # Longest first: a secret that holds another one is hidden as a whole.
        kept = {value for value in values if len(value) >= _SHORTEST_SECRET}
        self._values = sorted(kept, key=len, reverse=True)

    def hidden(self, text: str) -> str:
        """`text` with every secret replaced by `***`."""
        for value in self._values:
            text = text.replace(value, "***")
        return text
