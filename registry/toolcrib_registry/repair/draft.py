"""Arguments that are being repaired, and what was done to them.

The caller's own value is never changed: the draft copies what it changes.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from toolcrib_protocol.json_pointer import pointer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib_protocol.json_value import Json, JsonObject

    Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class ArgumentRepair:
    """One thing that was repaired.

    Attributes:
        pointer: where, as JSON Pointer into the arguments.
        what: a phrase.
        is_certain: whether nothing at all had to be guessed.
        is_doubtful: whether it is harmless only where the call is.
    """

    pointer: str
    what: str
    is_certain: bool = True
    is_doubtful: bool = False

    def __str__(self) -> str:
        return f"{self.pointer or 'the arguments'}: {self.what}"


@dataclass(slots=True)
class Draft:
    """The arguments so far."""

    values: JsonObject
    repairs: list[ArgumentRepair] = field(default_factory=list)

    @classmethod
    def of(cls, values: JsonObject, repairs: Sequence[ArgumentRepair] = ()) -> Draft:
        """A draft that may change everything inside."""
        return cls(copy.deepcopy(values), [*repairs])

    def at(self, path: Path) -> Json:
        """The value that a path leads to; it has to lead somewhere."""
        here: Json = self.values
        for step in path:
            here = cast("dict[str | int, Json]", here)[step]
        return here

    def put(self, path: Path, value: Json) -> None:
        """Replace the value at a path that is not the root."""
        cast("dict[str | int, Json]", self.at(path[:-1]))[path[-1]] = value

    def note(self, path: Path, what: str, *, is_certain: bool, is_doubtful: bool = False) -> None:
        """Write down a repair."""
        self.repairs.append(ArgumentRepair(pointer(path), what, is_certain, is_doubtful))
