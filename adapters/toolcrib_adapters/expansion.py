"""`${NAME}` in the settings of sources: the one place where secrets come in.

`${NAME}` is the variable, `${NAME:-default}` the variable or a default, `$${` a literal `${`; any
other `${` is refused, because a place that was meant to be filled must not go out as text. What is
expanded never reaches the database, a log, a state or an error: `Secrets` finds and hides it in
texts that come back from outside.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from toolcrib_protocol.errors import INVALID_SETTINGS, ErrorKind, ToolError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from toolcrib_protocol.json_value import Json

_PLACE: Final = re.compile(
    r"(?P<escape>\$\$\{)|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^${}]*))?\}|(?P<odd>\$\{)"
)
_SHORTEST_SECRET: Final = 4
"""Shorter values (`1`, `on`) are too common in ordinary text to be blanked out everywhere."""


class Expansion:
    """Fills variables in, and remembers what it filled in.

    Attributes:
        values: every value that came out of the environment.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.values: set[str] = set()

    def text(self, text: str) -> str:
        """`text` with its variables filled in.

        Raises:
            ToolError: `invalid_settings`, naming the variable that is not set (and nothing else).
        """
        return _PLACE.sub(self._filled, text)

    def _filled(self, match: re.Match[str]) -> str:
        if match["escape"]:
            return "${"
        if match["odd"]:
            raise _refused(
                "a place that starts with '${' is neither ${NAME} nor ${NAME:-default}; write $${ "
                "for the two characters themselves"
            )
        name = match["name"]
        found = self._environment.get(name)
        if found is not None:
            self.values.add(found)
            return found
        if match["default"] is None:
            raise _refused(
                f"the environment variable {name} is not set; set it, or write ${{{name}:-default}}"
            )
        return match["default"]


def variables_in(value: Json) -> set[str]:
    """The names of the variables that the settings `value` would be filled in with."""
    if isinstance(value, str):
        return {match["name"] for match in _PLACE.finditer(value) if match["name"]}
    if isinstance(value, dict):
        return {name for item in value.values() for name in variables_in(item)}
    return (
        {name for item in value for name in variables_in(item)}
        if isinstance(value, list)
        else set()
    )


def _refused(text: str) -> ToolError:
    return ToolError(INVALID_SETTINGS, text, ErrorKind.NEEDS_HUMAN)


class Secrets:
    """Values that may be secret, and how to keep them out of texts."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        kept = {value for value in values if len(value) >= _SHORTEST_SECRET}
        self._plain = frozenset(kept)
        # As they are quoted in URLs, and as `repr` writes them.
        kept |= {quote(value, safe="") for value in kept} | {repr(value)[1:-1] for value in kept}
        # Longest first: a secret that holds another one is hidden as a whole.
        self._values = sorted(kept, key=len, reverse=True)

    def with_more(self, values: Iterable[str]) -> Secrets:
        """These, and `values`."""
        return Secrets([*self._plain, *values])

    def hidden(self, text: str) -> str:
        """`text` with every secret replaced by `***`."""
        for value in self._values:
            text = text.replace(value, "***")
        return text
