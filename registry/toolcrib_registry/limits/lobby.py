"""Calls that wait at gates and could be made together: who may join whom.

Only calls of the same tool and version, of the same caller at the same endpoint with the same
credentials, and only where the tool's contract declares a batch form that does no more than the
tool itself. The first one that gets its places takes the others along that still wait.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_protocol.names import ToolId

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolcrib_protocol.result import Result
    from toolcrib_protocol.tool import BatchForm
    from toolcrib_registry.limits.line import Turn
    from toolcrib_registry.records import VersionRecord
    from toolcrib_registry.snapshot import Snapshot
    from toolcrib_registry.work import Work

    Together = tuple[VersionRecord, BatchForm]

_OF_ONE_REQUEST: Final = frozenset(
    {
        "accept",
        "accept-encoding",
        "baggage",
        "connection",
        "content-length",
        "content-type",
        "host",
        "mcp-method",
        "mcp-name",
        "traceparent",
        "tracestate",
    }
)
"""Headers in which two requests with the same credentials may differ."""


@dataclass(slots=True, eq=False)
class Member:
    """One call that waits, and what came of the batch it was taken into.

    Attributes:
        work: the call.
        turn: its place in the lines.
        kind: the calls that it may be made with share this.
        together: the tool that makes several of them at once.
        form: how.
        is_taken: whether it is part of a batch.
        answered: set when that batch has ended.
        result: its result; None if it has to be made by itself after all.
    """

    work: Work
    turn: Turn
    kind: tuple[object, ...]
    together: VersionRecord
    form: BatchForm
    is_taken: bool = False
    answered: anyio.Event = field(default_factory=anyio.Event)
    result: Result | None = None

    def answer(self, result: Result | None) -> None:
        """Say what came of the batch."""
        self.result = result
        self.answered.set()


class Lobby:
    """All calls of this process that wait and could be made together."""

    def __init__(self) -> None:
        self._waiting: defaultdict[tuple[object, ...], list[Member]] = defaultdict(list)

    def join(self, work: Work, turn: Turn, together: Together) -> Member:
        """Wait with the others of this kind."""
        member = Member(work, turn, _kind(work), *together)
        self._waiting[member.kind].append(member)
        return member

    def leave(self, member: Member) -> None:
        """Wait no more."""
        members = self._waiting[member.kind]
        members.remove(member)
        if not members:
            del self._waiting[member.kind]

    def gather(self, leader: Member) -> list[Member]:
        """The leader and those that still wait, taken out of their lines."""
        others = [
            member
            for member in self._waiting.get(leader.kind, [])
            if member is not leader and member.turn.line is not None
        ][: leader.form.max_items - 1]
        batch = [leader, *others] if others else []
        for member in batch:
            member.is_taken = True
            member.turn.call_off()
        return batch


def _kind(work: Work) -> tuple[object, ...]:
    call = work.call
    return (
        work.record.tool,
        work.record.version,
        call.caller.id,
        call.view,
        call.session,
        _credentials(call.caller_headers),
    )


def _credentials(headers: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset(pair for pair in headers.items() if pair[0] not in _OF_ONE_REQUEST)


def together_with(snapshot: Snapshot, work: Work) -> Together | None:
    """What does many calls like this one at once, and how; None if this one stays by itself."""
    contract = work.record.contract
    form = contract.batch
    if form is None or work.call.interaction.state is not None:
        return None
    reads = contract.behaviour.read_only is True
    if not reads and (work.call.key is not None or work.sent_key is not None):
        return None
    tool = snapshot.tools.get(ToolId(contract.group, form.tool))
    found = None if tool is None else tool.head
    if found is None or (reads and found.contract.behaviour.read_only is not True):
        return None
    return found, form
