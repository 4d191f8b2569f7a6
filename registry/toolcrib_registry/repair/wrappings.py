"""The arguments inside what a model wrapped around them: text, fences, the call once more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolcrib_registry.repair.draft import ArgumentRepair
from toolcrib_registry.repair.loose_json import read_loose_json
from toolcrib_registry.repair.near_names import folded

if TYPE_CHECKING:
    from collections.abc import Collection

    from toolcrib_protocol.json_value import Json, JsonObject

_WRAPPERS: Final = frozenset(
    {"arguments", "args", "params", "parameters", "input", "inputs", "kwargs", "toolinput",
     "toolarguments", "toolargs", "functionarguments"}
)  # fmt: skip
_NAMES: Final = frozenset({"name", "tool", "toolname", "function", "functionname", "action"})
_MOST_LAYERS: Final = 4


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """The object inside, and what was around it."""

    values: JsonObject
    repairs: tuple[ArgumentRepair, ...] = ()


def unwrapped(given: Json, known: Collection[str], names: Collection[str]) -> Unwrapped | None:
    """The arguments in `given`; None if there is no object in it.

    Args:
        given: what the caller sent.
        known: the properties that the schema knows; a wrapper that is one of them is none.
        names: what the tool is called; the name of another one is never passed over.
    """
    repairs: list[ArgumentRepair] = []
    here = given
    for _ in range(_MOST_LAYERS):
        inner, what = _inside(here, {folded(name) for name in known}, {*map(folded, names)})
        if not what:
            break
        repairs.append(ArgumentRepair("", what))
        here = inner
    return Unwrapped(here, tuple(repairs)) if isinstance(here, dict) else None


def _inside(value: Json, known: Collection[str], names: Collection[str]) -> tuple[Json, str]:
    """What is inside of one layer, and what the layer was; nothing if there is none."""
    if isinstance(value, str):
        read = read_loose_json(value)
        return (None, "") if read is None else (read, "the JSON in the text")
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        return value[0], "the only item of the list"
    if isinstance(value, dict):
        return _without_wrapper(value, known, names)
    return None, ""


def _without_wrapper(
    value: JsonObject, known: Collection[str], names: Collection[str]
) -> tuple[Json, str]:
    keys = {folded(key): key for key in value}
    if len(keys) != len(value) or not keys.keys().isdisjoint(known):
        return None, ""
    wrappers = [key for key in keys if key in _WRAPPERS]
    others = keys.keys() - wrappers
    if len(wrappers) != 1 or not others <= _NAMES or len(others) > 1:
        return None, ""
    told = [value[keys[key]] for key in others]
    if not all(isinstance(name, str) and folded(name) in names for name in told):
        return None, ""
    inner = value[keys[wrappers[0]]]
    if not isinstance(inner, dict | str):
        return None, ""
    return inner, f"what was inside {keys[wrappers[0]]!r}"
