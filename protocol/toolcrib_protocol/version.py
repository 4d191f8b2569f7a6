"""Semantic versions of contracts, and the ranges callers ask for.

A version is `MAJOR.MINOR.PATCH` without pre-release or build parts: published contracts never
change, so a draft is a status and not a version. Ranges are the five forms of a reference: exact,
`^`, `~`, comparisons joined by commas, and `latest`. Knows nothing about tools or storage.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from toolcrib_protocol.errors import INVALID_VERSION, ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# Nine digits a part: no real version is longer, and the parts fit 32-bit database columns.
_VERSION = re.compile(r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})", re.ASCII)
_PARTIAL = re.compile(r"(0|[1-9]\d{0,8})(?:\.(0|[1-9]\d{0,8})(?:\.(0|[1-9]\d{0,8}))?)?", re.ASCII)
_CLAUSE = re.compile(r"\s*(\^|~|>=|<=|>|<|=|)\s*([\d.]+)\s*", re.ASCII)
LATEST: Final = "latest"


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A semantic version; ordered by major, minor, patch."""

    major: int
    minor: int = 0
    patch: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """The version that `text` writes.

        Raises:
            ToolError: `invalid_version` if the text is not `MAJOR.MINOR.PATCH`.
        """
        match = _VERSION.fullmatch(text)
        if match is None:
            raise ToolError(
                INVALID_VERSION, f"{text!r} is not a version; write MAJOR.MINOR.PATCH, like 1.4.0"
            )
        return cls(*(int(part) for part in match.groups()))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    def next_major(self) -> Version:
        """The version after a change that may break callers."""
        return Version(self.major + 1, 0, 0)

    def next_minor(self) -> Version:
        """The version after a change that only adds."""
        return Version(self.major, self.minor + 1, 0)

    def next_patch(self) -> Version:
        """The version after a change that callers cannot see in a call."""
        return Version(self.major, self.minor, self.patch + 1)


FIRST_VERSION: Final = Version(1, 0, 0)


@dataclass(frozen=True, slots=True)
class VersionRange:
    """A set of versions: at least `at_least` (if given) and below `below` (if given).

    Both bounds are of the half-open form, so every written range becomes one interval.
    """

    at_least: Version = Version(0, 0, 0)
    below: Version | None = None
    text: str = LATEST

    @classmethod
    def parse(cls, text: str) -> VersionRange:
        """The range that `text` writes: `1.2.3`, `^1`, `~1.2`, `>=1,<3`, `latest`; blank is latest.

        `^1.2` allows what keeps the major (`^0.3` the minor, as npm does), `~1.2` what keeps the
        minor. A bare `1` or `1.2` means any version that starts so.

        Raises:
            ToolError: `invalid_version`, naming the accepted forms.
        """
        written = text.strip()
        if written in {"", LATEST, "*"}:
            return cls()
        at_least, below = Version(0, 0, 0), None
        for clause in written.split(","):
            lower, upper = _interval(clause, text)
            at_least = max(at_least, lower)
            below = upper if below is None else (below if upper is None else min(below, upper))
        return cls(at_least, below, written)

    def admits(self, version: Version) -> bool:
        """Whether `version` lies in this range."""
        return self.at_least <= version and (self.below is None or version < self.below)

    def newest(self, versions: Iterable[Version]) -> Version | None:
        """The highest of `versions` in this range, or None."""
        return max((version for version in versions if self.admits(version)), default=None)

    def __str__(self) -> str:
        return self.text


def _interval(clause: str, text: str) -> tuple[Version, Version | None]:
    match = _CLAUSE.fullmatch(clause)
    parts = _PARTIAL.fullmatch(match.group(2)) if match else None
    if match is None or parts is None:
        raise ToolError(
            INVALID_VERSION,
            f"{text!r} is not a version range; write 1.2.3, ^1, ~1.2, >=1,<3 or latest",
        )
    numbers = [int(part) for part in parts.groups() if part is not None]
    return _OPERATORS[match.group(1)](numbers)


def _padded(numbers: list[int]) -> Version:
    return Version(*[*numbers, 0, 0][:3])


def _after(numbers: list[int]) -> Version:
    """The first version beyond everything that starts with `numbers`."""
    return _padded([*numbers[:-1], numbers[-1] + 1])


def _caret(numbers: list[int]) -> tuple[Version, Version]:
    # npm's rule: the left-most non-zero part may not change.
    kept = next((i for i, number in enumerate(numbers) if number), len(numbers) - 1)
    return _padded(numbers), _after(numbers[: kept + 1])


_OPERATORS: Final[dict[str, Callable[[list[int]], tuple[Version, Version | None]]]] = {
    "": lambda numbers: (_padded(numbers), _after(numbers)),
    "=": lambda numbers: (_padded(numbers), _after(numbers)),
    "^": _caret,
    "~": lambda numbers: (_padded(numbers), _after(numbers[:2])),
    ">=": lambda numbers: (_padded(numbers), None),
    ">": lambda numbers: (_after(numbers), None),
    "<": lambda numbers: (Version(0, 0, 0), _padded(numbers)),
    "<=": lambda numbers: (Version(0, 0, 0), _after(numbers)),
}
