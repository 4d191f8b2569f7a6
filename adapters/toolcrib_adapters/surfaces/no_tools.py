"""Why an endpoint shows no tool, in a sentence for models and people.

Without it a model answers from imagination. The likeliest reason is told: nothing registered,
groups that do not exist, sources that do not run, tools that may not be called. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_adapters.surfaces.endpoints import is_group
from toolcrib_adapters.surfaces.group_summary import one_line
from toolcrib_registry.ports import SourceStatus

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from toolcrib_adapters.surfaces.endpoints import Endpoint
    from toolcrib_registry.ports import SourceState
    from toolcrib_registry.views import Sight

_MOST_TOLD: Final = 3
_WELL: Final = frozenset({SourceStatus.READY, SourceStatus.IDLE})
_LONGEST_REASON: Final = 160


def why_no_tools(endpoint: Endpoint, sight: Sight, states: Mapping[str, SourceState]) -> str:
    """The sentence; `states` are those of the sources that run in this process."""
    reason = next(_reasons(endpoint, sight, states))
    return f"There are no tools here: {reason}."


def _reasons(endpoint: Endpoint, sight: Sight, states: Mapping[str, SourceState]) -> Iterator[str]:
    """What may be the reason, the likeliest first."""
    snapshot = sight.snapshot
    if not endpoint.exists(snapshot):
        yield f"the {endpoint.kind.value} {endpoint.name!r} does not exist any more"
    if not snapshot.sources:
        yield "no source is registered; `toolcrib import PATH` or `toolcrib add NAME` brings tools"
    missing = [g for g in sight.view.groups or () if not is_group(g, snapshot)]
    if missing and len(missing) == len(sight.view.groups or ()):
        yield f"the profile {endpoint.name!r} shows groups that do not exist: {_few(missing)}"
    troubles = [
        f"{source.name} {_state(state)}"
        for source in endpoint.sources(snapshot)
        if (state := states.get(source.name)) is not None and state.status not in _WELL
    ]
    if troubles:
        yield f"of its sources, {_few(troubles)}"
    known = sum(sight.allows(tool) for tool in snapshot.tools)
    if known:
        yield f"none of its {known} tools may be called now; `toolcrib tools --all` says why"
    yield "its sources list none"


def _state(state: SourceState) -> str:
    told = {
        SourceStatus.CONNECTING: "is still connecting",
        SourceStatus.NEEDS_SIGN_IN: "needs somebody to sign in",
        SourceStatus.STOPPED: "is stopped",
    }.get(state.status, "failed")
    return f"{told} ({one_line(state.reason, _LONGEST_REASON)})" if state.reason else told


def _few(parts: list[str]) -> str:
    told = ", ".join(parts[:_MOST_TOLD])
    left = len(parts) - _MOST_TOLD
    return f"{told} and {left} more" if left > 0 else told
