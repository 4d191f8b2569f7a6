"""Repairs of one object in the arguments: its property names, what is unset, what is too much.

A name goes only onto a property that is not given, only if no other one is as near, and only if the
value could stand there. Nothing that may carry meaning is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.json_value import dump_json
from toolcrib_registry.repair.leaves import could_be
from toolcrib_registry.repair.near_names import folded, near_name, same_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.repair.draft import Draft, Path
    from toolcrib_registry.repair.schema_parts import Place

    FindName = Callable[[str, Iterable[str]], str | None]

_NOISE: Final = frozenset(
    {
        "reasoning", "reason", "thought", "thoughts", "thinking", "confidence", "explanation",
        "rationale", "justification", "toolcallid", "waitforprevious", "chainofthought",
    }
)  # fmt: skip
"""What models write beside their calls for themselves; folded."""
_LONGEST_SHOWN: Final = 60


class ObjectRepair:
    """The repairs of the object at one path."""

    def __init__(self, draft: Draft, path: Path, values: JsonObject, place: Place) -> None:
        self._draft = draft
        self._path = path
        self._values = values
        self._place = place
        self._known = place.known
        self._is_open = place.is_open

    def mend_names(self) -> None:
        """Put values of unknown names under the known ones that are meant."""
        self._rename(same_name, "another spelling of it", is_certain=True)
        if not self._is_open:
            self._rename(near_name, "the only name that is spelt alike", is_certain=False)

    def _rename(self, find: FindName, what: str, *, is_certain: bool) -> None:
        wanted: dict[str, list[str]] = {}
        for name in self._unknown:
            target = find(name, self._unset)
            if target is not None and self._could_take(target, name):
                wanted.setdefault(target, []).append(name)
        for target, names in wanted.items():
            if len(names) == 1:
                self._values[target] = self._values.pop(names[0])
                told = f"it was given as {names[0]!r}, {what}"
                self._draft.note((*self._path, target), told, is_certain=is_certain)

    @property
    def _unknown(self) -> list[str]:
        return [name for name in self._values if name not in self._known]

    @property
    def _unset(self) -> list[str]:
        return [name for name in self._known if name not in self._values]

    def _could_take(self, target: str, name: str) -> bool:
        return could_be(self._values[name], target, self._place.property(target))

    def fill_required(self) -> None:
        """Give required properties the value that the schema itself gives."""
        for name in self._place.required:
            if name in self._values:
                continue
            only = self._place.property(name).only_value
            if only:
                self._values[name] = only[0]
                told = f"not given; {_shown(dump_json(only[0]))} is what its schema says"
                self._draft.note((*self._path, name), told, is_certain=False)

    def leave_out(self, untouchable: Collection[str]) -> None:
        """Leave out what only the model itself can have meant: its own prose.

        Nothing else, whatever the schema says: a `dry_run` or a `filter` that the tool does not
        know would have changed what the call does.

        Args:
            untouchable: folded names that are never left out.
        """
        if self._is_open:
            return
        for name in self._unknown:
            plain, value = folded(name), self._values[name]
            is_prose = plain in _NOISE and isinstance(value, str | int | float)
            if plain in untouchable or not is_prose:
                continue
            del self._values[name]
            told = "left out: the tool has no such argument"
            self._draft.note((*self._path, name), told, is_certain=False)

    def drop_unset(self) -> None:
        """Leave out nulls of optional properties whose schemas admit no null."""
        required = set(self._place.required)
        for name in [name for name, value in self._values.items() if value is None]:
            types = self._place.property(name).types
            if name in self._known and name not in required and types and "null" not in types:
                del self._values[name]
                told = "left out: null stands for not given"
                self._draft.note((*self._path, name), told, is_certain=True)


def _shown(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"
