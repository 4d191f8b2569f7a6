"""Making, changing and removing profiles: decisions on a snapshot, for `Catalogue.change`.

Pure. What a profile shows is in `views.py`; who may change one is not decided here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_protocol.call_rules import LONGEST_CALL_SECONDS
from toolcrib_protocol.errors import CONFLICT, INVALID_SETTINGS, UNKNOWN_PROFILE, ToolError
from toolcrib_protocol.names import check_group_name, nearest
from toolcrib_registry.changes import DropProfile, PutProfile
from toolcrib_registry.records import DEFAULT_PROFILE, ProfileRecord

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolcrib_registry.changes import Change
    from toolcrib_registry.snapshot import Snapshot


def profile_named(snapshot: Snapshot, name: str) -> ProfileRecord:
    """The profile of that name; `default` always is one.

    Raises:
        ToolError: `unknown_profile`, with the nearest names.
    """
    profile = snapshot.profiles.get(name)
    if profile is not None:
        return profile
    if name == DEFAULT_PROFILE:
        return ProfileRecord(name)
    close = nearest(name, [DEFAULT_PROFILE, *snapshot.profiles])
    hint = f"did you mean {' or '.join(close)}?" if close else "`toolcrib profile list` lists them"
    raise ToolError(
        UNKNOWN_PROFILE, f"no profile is called {name!r}; {hint}", details={"nearest": [*close]}
    )


def create_profile(snapshot: Snapshot, profile: ProfileRecord) -> list[Change]:
    """What has to change so that a new profile exists.

    Raises:
        ToolError: `invalid_name`, `invalid_settings`, or `conflict` if there is one of that name.
    """
    check_group_name(profile.name, what="profile")
    if profile.name in snapshot.profiles:
        raise ToolError(
            CONFLICT,
            f"there is a profile {profile.name!r} already; `toolcrib profile edit {profile.name}` "
            "changes it",
        )
    return [PutProfile(_checked(profile))]


def edit_profile(
    snapshot: Snapshot, name: str, edit: Callable[[ProfileRecord], ProfileRecord]
) -> list[Change]:
    """What has to change so that a profile is as `edit` makes it.

    Raises:
        ToolError: `unknown_profile`, `invalid_settings`.
    """
    before = profile_named(snapshot, name)
    after = _checked(edit(before))
    return [] if snapshot.profiles.get(name) == after else [PutProfile(after)]


def remove_profile(snapshot: Snapshot, name: str) -> list[Change]:
    """What has to change so that a profile is gone; `default` goes back to showing everything.

    Raises:
        ToolError: `unknown_profile`.
    """
    profile_named(snapshot, name)
    return [DropProfile(name)] if name in snapshot.profiles else []


def _checked(profile: ProfileRecord) -> ProfileRecord:
    seconds, calls = profile.timeout_seconds, profile.calls_at_once
    if seconds is not None and not 0 < seconds <= LONGEST_CALL_SECONDS:
        raise ToolError(
            INVALID_SETTINGS,
            f"the profile {profile.name!r} cannot limit calls to {seconds:g} s: from more than 0 "
            f"to {LONGEST_CALL_SECONDS:g}",
        )
    if calls is not None and calls < 1:
        raise ToolError(
            INVALID_SETTINGS,
            f"the profile {profile.name!r} cannot run {calls} calls at once: 1 or more",
        )
    return profile
