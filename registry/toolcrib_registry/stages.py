"""What the path of a call is made of: stages around the dispatch, each with one concern.

A stage hands the work on, or answers by itself; failures are results, so nothing but cancellation
and faults of our own flies past it. Their order is decided where the crib is composed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from toolcrib_protocol.json_value import Json
    from toolcrib_protocol.result import Result
    from toolcrib_registry.call import Call
    from toolcrib_registry.call_trail import CallTrail
    from toolcrib_registry.handles import ReadWish
    from toolcrib_registry.records import VersionRecord
    from toolcrib_registry.work import Work

    Onward = Callable[[Work], Awaitable[Result]]


class Stage(Protocol):
    """One concern of the path: limits, retries, a cache, a ledger."""

    async def carry(self, work: Work, onward: Onward) -> Result:
        """The result of `work`; `onward` is the rest of the path and never raises `ToolError`."""
        ...


class KeptResults(Protocol):
    """Results that are too large to deliver: kept, and put back where arguments name them."""

    async def put_back(self, call: Call, record: VersionRecord) -> Json:
        """The arguments of `call` with every handle in them replaced by what it stands for.

        Raises:
            ToolError: `unknown_handle`, `not_permitted`, `invalid_expression`.
        """
        ...

    async def keep_large(self, work: Work, result: Result) -> Result:
        """`result`, or, if it is too large, a preview of it and a handle."""
        ...

    async def read(self, wish: ReadWish, call: Call) -> Result:
        """A piece of a kept result, for the caller of `call`.

        Raises:
            ToolError: `unknown_handle`, `invalid_expression`, `expression_budget`,
                `invalid_arguments`.
        """
        ...


class CallRecorder(Protocol):
    """Whoever writes down the calls."""

    def ended(self, call: Call, trail: CallTrail, result: Result | None) -> None:
        """A call ended; None if the caller went away before. Must not block or raise."""
        ...


@dataclass(frozen=True, slots=True)
class Path:
    """The parts of the path of a call that a crib was composed of.

    Attributes:
        stages: from the outermost to the one next to the dispatch.
        kept: takes care of results that are too large; None: everything is delivered.
        recorder: writes down the calls; None: nobody does.
    """

    stages: Sequence[Stage] = ()
    kept: KeptResults | None = None
    recorder: CallRecorder | None = None

    def around(self, dispatch: Onward) -> Onward:
        """All stages with `dispatch` inside."""
        onward = dispatch
        for stage in reversed(self.stages):
            onward = partial(stage.carry, onward=onward)
        return onward
