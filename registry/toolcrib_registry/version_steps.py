"""What number a changed contract gets, and whether it may carry the number it declares.

The comparison of the contracts decides (`toolcrib_protocol.compatibility`): what callers cannot see
in a call is a patch, what serves them all is minor, anything else, also what could not be decided,
is major. What only an overlay says more is minor; other arguments that it sets are major. Pure;
used by `acceptance`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.compatibility import Level, compare
from toolcrib_protocol.version import FIRST_VERSION, Version

if TYPE_CHECKING:
    from toolcrib_protocol.compatibility import Change
    from toolcrib_protocol.tool import Contract
    from toolcrib_registry.records import ToolRecord, VersionRecord

_WHEN: Final = ("when_to_use", "when_not_to_use")
_TEXT: Final = frozenset(
    {"version", "title", "description", *_WHEN, "examples", "tags", "icons", "meta"}
)
_MOST_REASONS: Final = 3
_STEPS: Final = {
    Level.NONE: Version.next_patch,
    Level.PATCH: Version.next_patch,
    Level.MINOR: Version.next_minor,
    Level.UNKNOWN: Version.next_major,
    Level.MAJOR: Version.next_major,
}


def next_version(tool: ToolRecord, offer: VersionRecord) -> Version:
    """The number of `offer` as the next version of `tool`."""
    newest = max(tool.versions, default=None)
    if newest is None:
        return FIRST_VERSION
    before = tool.versions[newest]
    level = compare(before.offered, offer.offered).level
    if not _same_arguments(before, offer):
        level = Level.MAJOR
    elif _overlay_says_more(before, offer) and not level.at_least(Level.MINOR):
        level = Level.MINOR
    return _STEPS[level](newest)


def may_stand_beside(old: VersionRecord, new: VersionRecord) -> bool:
    """Whether callers of an old version may go on although the source now serves the new one.

    A source serves one contract at a time: their calls reach the new one.
    """
    return _same_arguments(old, new) and compare(old.contract, new.contract).is_compatible


def declared_problem(
    tool: ToolRecord, offer: VersionRecord, declared: Version | None
) -> str | None:
    """Why `offer` cannot be published under the version it declares, or None."""
    newest = max(tool.versions, default=None)
    if declared is None or newest is None:
        return None
    if any(is_known_as(record, offer, declared) for record in tool.versions.values()):
        return None
    if declared <= newest:
        return (
            f"version {declared} of {offer.tool} cannot be published: published versions "
            f"never change and the newest is {newest}; declare a version above it"
        )
    change = compare(tool.versions[newest].offered, offer.offered)
    # What could not be decided is the author's to say.
    least = newest if change.level is Level.UNKNOWN else _STEPS[change.level](newest)
    return None if declared >= least else _too_small(offer, declared, least, change)


def _too_small(offer: VersionRecord, declared: Version, least: Version, change: Change) -> str:
    worst = [each.sentence for each in change.reasons if each.level is change.level]
    told = "; ".join(worst[:_MOST_REASONS])
    more = len(worst) - _MOST_REASONS
    return (
        f"version {declared} of {offer.tool} cannot be published: what changed is "
        f"{change.level.value} ({told}{f'; and {more} more' if more > 0 else ''}); declare "
        f"{least} or above"
    )


def is_known_as(record: VersionRecord, offer: VersionRecord, declared: Version | None) -> bool:
    """Whether `record` is what became of the same contract under the same declared version.

    With an overlay on it the crib counts on, so the number it has may be a later one.
    """
    if not record.is_offered_as(offer):
        return False
    return declared in {None, record.version} or declared == record.offered.version


def _overlay_says_more(old: VersionRecord, new: VersionRecord) -> bool:
    """Whether more than plain text differs, although the source changed nothing but text."""
    if not _differ_in_text_only(old.contract, new.contract):
        return True
    return _when(old.contract) != _when(new.contract) and _when(old.offered) == _when(new.offered)


def _when(contract: Contract) -> tuple[str, ...]:
    return tuple(getattr(contract, name) for name in _WHEN)


def _same_arguments(old: VersionRecord, new: VersionRecord) -> bool:
    return (old.presets, old.reserved) == (new.presets, new.reserved)


def _differ_in_text_only(old: Contract, new: Contract) -> bool:
    exclude = set(_TEXT)
    return old.model_dump(mode="json", exclude=exclude) == new.model_dump(
        mode="json", exclude=exclude
    )
