"""How something that shall be differs from what there is, in words people can review.

What may be a secret (environment, headers) is told by its key only, and addresses are masked. Used
by `declaring`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from toolcrib_registry.shown_text import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.records import GroupRecord, ProfileRecord, SourceRecord

_SECRET: Final = ("env", "headers")
_UNSAID: Final[tuple[Json, ...]] = (None, "", [], {})


@dataclass(frozen=True, slots=True)
class Detail:
    """One key that differs; the values are None where there is none, or where it is secret."""

    key: str
    old: Json = None
    new: Json = None


@dataclass(frozen=True, slots=True)
class Difference:
    """What happens to one part.

    Attributes:
        action: added, changed or removed.
        kind: `source`, `group`, `overlay`, `profile` or `rules`.
        name: its name.
        details: the keys that differ; none for what is removed.
    """

    action: Literal["add", "change", "remove"]
    kind: str
    name: str
    details: tuple[Detail, ...] = ()

    @classmethod
    def between(
        cls,
        action: Literal["add", "change"],
        kind: str,
        name: str,
        old: JsonObject,
        new: JsonObject,
    ) -> Difference:
        """The difference from `old` to `new` facts."""
        return cls(action, kind, name, tuple(_details(old, new)))

    def as_json(self) -> JsonObject:
        """The difference as JSON."""
        details: list[Json] = [{"key": d.key, "old": d.old, "new": d.new} for d in self.details]
        return {"action": self.action, "kind": self.kind, "name": self.name, "details": details}


def source_facts(source: SourceRecord) -> JsonObject:
    """What makes a source; settings that say nothing are left out."""
    spec = {key: value for key, value in source.spec.items() if value not in _UNSAID}
    return {"kind": source.kind.value, "group": source.group, **spec}


def group_facts(group: GroupRecord) -> JsonObject:
    """What is said about a group."""
    return {
        "title": group.title,
        "description": group.description,
        "members": [str(member) for member in group.members],
        "refuse_unknown_arguments": group.refuses_unknown_arguments,
    }


def profile_facts(profile: ProfileRecord) -> JsonObject:
    """What makes a profile."""
    return {
        "title": profile.title,
        "description": profile.description,
        "groups": None if profile.groups is None else [*profile.groups],
        "pins": [str(pin) for pin in profile.pins],
        "mode": profile.mode.value,
        "timeout_seconds": profile.timeout_seconds,
        "calls_at_once": profile.calls_at_once,
    }


def _details(old: JsonObject, new: JsonObject) -> Iterator[Detail]:
    for key in dict.fromkeys([*new, *old]):
        before, after = old.get(key), new.get(key)
        if before == after or (before in _UNSAID and after in _UNSAID):
            continue
        if key in _SECRET:
            yield from _secret_details(key, before, after)
        else:
            yield Detail(key, shown(before), shown(after))


def _secret_details(key: str, old: Json, new: Json) -> Iterator[Detail]:
    before = old if isinstance(old, dict) else {}
    after = new if isinstance(new, dict) else {}
    for name in dict.fromkeys([*after, *before]):
        if before.get(name) != after.get(name):
            yield Detail(f"{key}.{name}")
