"""Properties that came, went, or have another default.

No value need be refused for it: an object usually takes any name. But an argument that is not
described is one that nobody sends and the crib lets nobody send, so one that goes is lost to its
callers, and one that comes is new to them; and a default that moved makes the same call another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.compatibility.change import Level, Reason, Side
from toolcrib_protocol.compatibility.forms import forms_of, value_key
from toolcrib_protocol.json_pointer import pointer
from toolcrib_protocol.json_value import dump_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_protocol.compatibility.forms import Form, SchemaDocument
    from toolcrib_protocol.json_value import Json

    Path = tuple[str, ...]

_DEEPEST: Final = 5
_MOST: Final = 600


@dataclass(slots=True)
class Described:
    """What is said about one place.

    Attributes:
        defaults: the defaults that are named for it.
        is_closed: whether names that are not described are not expected there.
    """

    defaults: list[Json] = field(default_factory=list)
    is_closed: bool = False


def described_reasons(side: Side, old: SchemaDocument, new: SchemaDocument) -> list[Reason]:
    """The properties that are not what they were."""
    before, after = _described(old), _described(new)
    if max(len(before), len(after)) >= _MOST:
        return []
    reasons = [
        *_lost(side, before, after),
        *_gained(side, before, after),
    ]
    if side is Side.INPUT:
        shared = (at for at in before if at and at in after)
        reasons += [each for at in shared for each in _moved(at, before[at], after[at])]
    return reasons


def _lost(side: Side, before: dict[Path, Described], after: dict[Path, Described]) -> list[Reason]:
    told = "is not described any more"
    return [
        Reason(side, pointer(at), "property-removed", Level.MAJOR, f"{pointer(at)} {told}")
        for at in _first_of(before, after)
        if after[at[:-1]].is_closed
    ]


def _gained(
    side: Side, before: dict[Path, Described], after: dict[Path, Described]
) -> list[Reason]:
    return [
        Reason(side, pointer(at), "property-added", Level.MINOR, f"{pointer(at)} is new")
        for at in _first_of(after, before)
    ]


def _first_of(mine: dict[Path, Described], other: dict[Path, Described]) -> list[Path]:
    """The places of `mine` that the other does not know although it knows what is around them."""
    return [at for at in mine if at not in other and at[:-1] in other]


def _moved(at: Path, before: Described, after: Described) -> Iterator[Reason]:
    if [*map(value_key, before.defaults)] == [*map(value_key, after.defaults)]:
        return
    was = dump_json(before.defaults[0]) if before.defaults else "not named"
    now = dump_json(after.defaults[0]) if after.defaults else "not named"
    # Naming a default that there was all along is more common than inventing one.
    level = Level.MAJOR if before.defaults else Level.MINOR
    told = f"at {pointer(at)}: the default was {was} and is {now} now"
    yield Reason(Side.INPUT, pointer(at), "default", level, told)


def _described(document: SchemaDocument) -> dict[Path, Described]:
    """Every described place, outermost first, over all branches of choices."""
    found: dict[Path, Described] = {}
    for at, form in _places(document, (document.root,), ()):
        place = found.setdefault(at, Described())
        place.defaults += [v for v in form.held("default") if v not in place.defaults]
        place.is_closed = place.is_closed or (bool(form.named) and form.says_nothing_of_the_rest)
        if len(found) >= _MOST:
            break
    return found


def _places(
    document: SchemaDocument, schemas: tuple[Json, ...], path: Path
) -> Iterator[tuple[Path, Form]]:
    for form in forms_of(document, schemas):
        yield path, form
        if len(path) < _DEEPEST:
            for name in form.named:
                yield from _places(document, form.of_property(name), (*path, name))
