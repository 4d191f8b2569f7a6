"""What travels with one attempt of a call to its source: time limits, progress, questions.

Two limits run: the source's own, which ends first, and the path's, a little later. Both stand still
while a person is asked, and both begin anew when progress is reported, where that is set.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from toolcrib_registry.idempotency_keys import key_headers, key_meta
from toolcrib_registry.patience import Patience
from toolcrib_registry.ports import CallContext

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.interaction import Interaction, Question
    from toolcrib_registry.ports import Progress
    from toolcrib_registry.work import Work

_UNFELT_SECONDS: Final = 0.25
_UNFELT_PART: Final = 0.01


def context_of(work: Work, grace_seconds: float) -> CallContext:
    """The context of the attempt that begins now.

    Args:
        work: what is called.
        grace_seconds: how much of the time that is left the source does not get.
    """
    call = work.call
    seconds = _seconds_left(work, grace_seconds)
    inner = Patience(seconds)
    report = call.report_progress
    if work.limit.extends:
        report = _extending(work, inner, grace_seconds)
    return CallContext(
        seconds,
        call.caller,
        report,
        {**call.meta, **key_meta(work)},
        call.caller_headers,
        _patient(call.interaction, work.patience),
        call.log,
        call.let_go,
        inner,
        work.reconnect_seconds,
        call.session,
        key_headers(work),
    )


def _seconds_left(work: Work, grace_seconds: float) -> float:
    """How long this attempt may take: its limit, or what queues and attempts left of the time."""
    left = max(0.0, work.patience.left - grace_seconds)
    # A moment of our own work is no waiting: limits are told as they were set.
    unfelt = min(_UNFELT_SECONDS, _UNFELT_PART * work.seconds)
    return work.seconds if left > work.seconds - unfelt else left


def _extending(
    work: Work, inner: Patience, grace_seconds: float
) -> Callable[[Progress], Awaitable[None]]:
    """What takes progress, begins the time anew and tells the caller, if it wants to know."""
    limit, report = work.limit, work.call.report_progress
    latest = limit.cap_seconds - work.patience.age

    async def extend(progress: Progress) -> None:
        work.patience.begin_anew(limit.seconds + grace_seconds, limit.cap_seconds + grace_seconds)
        inner.begin_anew(limit.seconds, latest)
        if report is not None:
            await report(progress)

    return extend


def _patient(interaction: Interaction, patience: Patience) -> Interaction:
    """The same caller, whose time to answer is not taken from the call's."""
    ask = interaction.ask
    if ask is None:
        return interaction

    async def ask_patiently(question: Question) -> JsonObject:
        with patience.standing_still():
            return await ask(question)

    return replace(interaction, ask=ask_patiently)
