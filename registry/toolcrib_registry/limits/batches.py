"""Makes calls that wait together, as one call of the tool that their contract names.

That call is made as any other: resolved and allowed for the same caller at the same endpoint,
checked, written down, healed. It runs in a task of its own, so that nobody's leaving takes the
others' results along. What has no usable answer is made by itself where that is harmless, and of
unknown outcome elsewhere.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import anyio.abc

from toolcrib_protocol.errors import CALL_INTERRUPTED, TOOL_TIMED_OUT, ErrorKind, ToolError
from toolcrib_protocol.result import Result
from toolcrib_registry.interaction import IN_A_LIST
from toolcrib_registry.limits.batch_items import BATCHED_META, items_of, went_wrong
from toolcrib_registry.limits.held_gates import HELD, HeldGates
from toolcrib_registry.limits.lobby import Lobby, Member, together_with

if TYPE_CHECKING:
    from toolcrib_registry.call import Call
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.limits.gate import Gate
    from toolcrib_registry.limits.line import Turn
    from toolcrib_registry.work import Work

_log = logging.getLogger(__name__)


class Batches:
    """All batches of this process."""

    def __init__(self, catalogue: Catalogue) -> None:
        """Nothing is made together before `run` runs."""
        self._catalogue = catalogue
        self._lobby = Lobby()
        self._tasks: anyio.abc.TaskGroup | None = None

    async def run(self) -> None:
        """Make batches until cancelled."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                await anyio.sleep_forever()
            finally:
                self._tasks = None

    def join(self, work: Work, turn: Turn) -> Member | None:
        """A call that has to wait, if it could be made with others."""
        if work.record.contract.batch is None or self._tasks is None:
            return None
        together = together_with(self._catalogue.snapshot, work)
        return None if together is None else self._lobby.join(work, turn, together)

    def leave(self, member: Member) -> None:
        """It does not wait any more."""
        self._lobby.leave(member)

    def begin(self, leader: Member, gates: tuple[Gate, ...]) -> bool:
        """Make the calls that wait with this one, if there are any, behind the gates it passed."""
        if self._tasks is None:
            return False
        members = self._lobby.gather(leader)
        if members:
            self._tasks.start_soon(self._make, members, gates)
        return bool(members)

    async def outcome(self, member: Member) -> Result | None:
        """The result of one call of a batch; None: it has to be made by itself."""
        with member.work.patience.limit():
            await member.answered.wait()
            return member.result
        text = f"{member.work.record.contract.id} gave no answer in time; the call may have run"
        return Result.failed(ToolError(TOOL_TIMED_OUT, text, ErrorKind.RETRYABLE))

    async def _make(self, members: list[Member], gates: tuple[Gate, ...]) -> None:
        """Make a batch and tell every member what came of it."""
        held = HeldGates(gates)
        HELD.set(held)
        text = "it was broken off"
        answer = Result.failed(ToolError(CALL_INTERRUPTED, text, ErrorKind.RETRYABLE))
        try:
            answer = await members[0].work.call_other(_call_of(members))
        except Exception:  # noqa: BLE001 - a worker's border: our fault must not end other batches
            _log.exception("a batch of %s failed inside toolcrib", members[0].work.record.tool)
        finally:
            held.leave()
            _tell(members, answer)


def _call_of(members: list[Member]) -> Call:
    """The call that makes all of them."""
    leader = members[0]
    return replace(
        leader.work.call,
        tool=str(leader.together.tool),
        version=str(leader.together.version),
        arguments={
            leader.form.items_argument: [member.work.arguments.values for member in members]
        },
        timeout_seconds=max(0.001, *(member.work.seconds_left for member in members)),
        report_progress=None,
        log=None,
        let_go=None,
        interaction=IN_A_LIST,
        # Each of them has its place of the profile already.
        view=replace(leader.work.call.view, calls_at_once=None),
        key=None,
        stands_in_for=(),
        most_result_bytes=None,
        takes_whole=True,
        needs_data=False,
    )


def _tell(members: list[Member], answer: Result) -> None:
    single, together = members[0].work.record.contract, members[0].together.contract
    results = items_of(answer, len(members), single) if answer.error is None else None
    for position, member in enumerate(members):
        trail = member.work.trail
        trail.note("batched", calls=len(members), tool=str(together.id))
        if results is None:
            member.answer(went_wrong(answer, together, single))
        else:
            trail.facts[BATCHED_META] = len(members)
            member.answer(results[position])
