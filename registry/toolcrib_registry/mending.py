"""Other arguments for those that a source refused although its published schema admits them.

Only the words of the refusal can help, and only as far as the operator lets arguments be repaired.
What the operator has set himself is never changed. Used by `healing.py`, which knows whether
sending them is harmless.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.call_rules import RepairMode
from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.result import REPAIRS_META
from toolcrib_registry.arguments import ReadyArguments
from toolcrib_registry.repair import after_rejection

if TYPE_CHECKING:
    from toolcrib_protocol.result import Result
    from toolcrib_registry.checkers import Checkers
    from toolcrib_registry.repair import Repaired
    from toolcrib_registry.work import Work

_LONGEST_WORDS: Final = 4_000


class ArgumentMending:
    """Makes other arguments of refused ones; see `healing.Mending`."""

    def __init__(self, checkers: Checkers) -> None:
        """Checks what it makes with `checkers`."""
        self._checkers = checkers

    def __call__(self, work: Work, refusal: Result) -> ReadyArguments | None:
        """Arguments that are worth a second try; None if there are none."""
        mode = work.rules.repair or RepairMode.REPAIR
        if mode is RepairMode.OFF:
            return None
        mended = self._asked_for(work, _words(refusal))
        if mended is None or not _may_be_sent(work, mended, mode):
            return None
        repairs = (*work.arguments.repairs, *mended.repairs)
        work.trail.facts[REPAIRS_META] = [str(repair) for repair in repairs]
        return ReadyArguments(mended.values, work.arguments.unknown, repairs)

    def _asked_for(self, work: Work, told: str) -> Repaired | None:
        record, values = work.record, work.arguments.values
        under = record.underlay
        if under is None:
            schema, checker = record.contract.input_schema, self._checkers.of(record)
        else:
            schema, checker = under.offered.input_schema, self._checkers.under(under)
        return after_rejection(values, schema, checker, told)


def _words(refusal: Result) -> str:
    """All that the source said, its own data about the fault included."""
    details = refusal.error.details if refusal.error is not None else {}
    told = details.get("jsonrpc_data")
    return f"{refusal.text}\n{dump_json(told) if told is not None else ''}"[:_LONGEST_WORDS]


def _may_be_sent(work: Work, mended: Repaired, mode: RepairMode) -> bool:
    """Whether they may go without anybody's word, and leave the operator's own as they are."""
    is_careful = mode is RepairMode.STRICT or work.record.contract.behaviour.destructive is True
    own = work.record.presets
    return (mended.is_certain or not is_careful) and all(
        name in mended.values and mended.values[name] == value for name, value in own.items()
    )
