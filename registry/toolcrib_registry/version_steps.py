"""What number a changed contract gets, and whether it may carry the number it declares.

Patch: callers cannot see the change in a call. Minor: an overlay says more about the same call
(when to use it, how it behaves). Major: anything else; whether that breaks callers is not known,
and not known counts as breaking. Pure; used by `acceptance`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.version import FIRST_VERSION

if TYPE_CHECKING:
    from toolcrib_protocol.tool import Contract
    from toolcrib_protocol.version import Version
    from toolcrib_registry.records import ToolRecord, VersionRecord

_WHEN: Final = ("when_to_use", "when_not_to_use")
_TEXT: Final = frozenset(
    {"version", "title", "description", *_WHEN, "examples", "tags", "icons", "meta"}
)


def next_version(tool: ToolRecord, offer: VersionRecord) -> Version:
    """The number of `offer` as the next version of `tool`."""
    newest = max(tool.versions, default=None)
    if newest is None:
        return FIRST_VERSION
    before = tool.versions[newest]
    if not _same_arguments(before, offer) or not _differ_in_text_only(
        before.offered, offer.offered
    ):
        return newest.next_major()
    return newest.next_minor() if _overlay_says_more(before, offer) else newest.next_patch()


def may_stand_beside(old: VersionRecord, new: VersionRecord) -> bool:
    """Whether callers of an old version may go on although the source now serves the new one.

    A source serves one contract at a time: calls of any other old one would reach the new one.
    """
    return _same_arguments(old, new) and _differ_in_text_only(old.contract, new.contract)


def declared_problem(
    tool: ToolRecord, offer: VersionRecord, declared: Version | None
) -> str | None:
    """Why `offer` cannot be published under the version it declares, or None."""
    newest = max(tool.versions, default=None)
    if declared is None or newest is None or declared > newest:
        return None
    if any(is_known_as(record, offer, declared) for record in tool.versions.values()):
        return None
    return (
        f"version {declared} of {offer.tool} cannot be published: published versions "
        f"never change and the newest is {newest}; declare a version above it"
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
