"""The plan of a run: tasks of two to six calls, and the fault of each call that has one.

Drawn from a seed and from nothing else; `plans.json` holds the digest of every published plan, and
was published before there was anything that heals. Seeds stand in two halves: one to develop with,
one held out, to be run once.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from benchmarks.faults.argument_faults import (
    NOT_REPAIRABLE,
    REPAIRABLE,
    digits_for_a_text,
    kinds_that_fit,
)
from benchmarks.faults.dice import Dice
from benchmarks.faults.gold import gold_arguments
from benchmarks.faults.mixes import MIXES, Family
from benchmarks.faults.toolset import ASKED, BY_REFERENCE, Effect
from benchmarks.faults.wire_faults import drawn_wire_fault

if TYPE_CHECKING:
    from benchmarks.faults.argument_faults import Damage
    from benchmarks.faults.toolset import Json, Tool
    from benchmarks.faults.wire_faults import WireFault

DEVELOPMENT: Final = (101, 102, 103, 104, 105)
HELD_OUT: Final = (901, 902, 903, 904, 905)
RATES: Final = (0.065, 0.15)
TASKS: Final = 200
EFFECTS: Final = {Effect.READ: 0.6, Effect.KEYED: 0.2, Effect.PLAIN: 0.2}
WITH_EQUIVALENT: Final = 0.6
_TRIES: Final = 40


@dataclass(frozen=True)
class ArgumentFault:
    """What the caller gets wrong.

    Attributes:
        kind: one of the 24.
        given: what is sent in place of the right arguments.
        is_healable: whether the right call can be told from it, safely.
    """

    kind: str
    given: Any
    is_healable: bool


@dataclass(frozen=True)
class PlannedCall:
    """One call: the tool, the right arguments, and the fault if there is one."""

    case: str
    tool: str
    arguments: Json
    argument_fault: ArgumentFault | None = None
    wire_fault: WireFault | None = None

    @property
    def kind(self) -> str:
        """The kind of the fault, `none` without one."""
        fault = self.argument_fault or self.wire_fault
        return "none" if fault is None else fault.kind

    @property
    def is_healable(self) -> bool:
        """Whether the call should succeed in spite of its fault."""
        fault = self.argument_fault or self.wire_fault
        return fault is None or fault.is_healable


@dataclass(frozen=True)
class Task:
    """Calls that are made one after the other; it is done if all of them are."""

    name: str
    calls: tuple[PlannedCall, ...]


@dataclass(frozen=True)
class Plan:
    """All tasks of one seed."""

    seed: int
    mix: str
    rate: float
    tasks: tuple[Task, ...]

    def wire_faults(self) -> dict[str, Json]:
        """What the proxies read: the fault of each case."""
        return {
            call.case: asdict(call.wire_fault)
            for task in self.tasks
            for call in task.calls
            if call.wire_fault is not None
        }

    def digest(self) -> str:
        """What tells this plan from any other."""
        written = json.dumps(asdict(self), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(written.encode()).hexdigest()


def drawn_plan(seed: int, mix: str, rate: float, tasks: int = TASKS) -> Plan:
    """The plan of a seed; fewer tasks are the first ones of more."""
    return Plan(seed, mix, rate, tuple(_task(seed, mix, rate, n) for n in range(tasks)))


def _task(seed: int, mix: str, rate: float, number: int) -> Task:
    dice = Dice(f"{seed}/{mix}/{rate}/{number}")
    name = f"s{seed}-t{number:03}"
    return Task(
        name,
        tuple(_call(f"{name}-c{n}", mix, rate, dice) for n in range(dice.number(2, 6))),
    )


def _call(case: str, mix: str, rate: float, dice: Dice) -> PlannedCall:
    tool = dice.pick(ASKED[dice.weighted(EFFECTS)])
    if not dice.chance(rate):
        return PlannedCall(case, tool.reference, gold_arguments(tool, case, dice))
    family = dice.weighted(MIXES[mix])
    if family is Family.REPAIRABLE:
        return _with_argument_fault(case, tool, REPAIRABLE, mix, dice)
    if family is Family.NOT_REPAIRABLE:
        return _with_argument_fault(case, tool, NOT_REPAIRABLE, mix, dice)
    if family is Family.GONE and mix == "full":
        tool = _tool_that_goes(tool, dice)
    fault = drawn_wire_fault(family, tool, mix, dice)
    return PlannedCall(case, tool.reference, gold_arguments(tool, case, dice), wire_fault=fault)


def _tool_that_goes(tool: Tool, dice: Dice) -> Tool:
    """What is gone for good: in that share of all cases something that has an equivalent."""
    of = [t for t in ASKED[Effect.READ] if t.equivalents]
    if dice.chance(WITH_EQUIVALENT):
        return tool if tool.equivalents else dice.pick(of)
    others = [t for t in ASKED[tool.effect] if not t.equivalents]
    return dice.pick(others) if tool.equivalents else tool


def _with_argument_fault(
    case: str, tool: Tool, kinds: dict[str, Damage], mix: str, dice: Dice
) -> PlannedCall:
    """A call of the tool with a kind of fault that it can have, all such kinds alike."""
    wanted = list(kinds_that_fit(kinds, tool)) if mix == "healable" else list(kinds)
    for kind in dice.some(wanted, len(wanted)):
        for _ in range(_TRIES):
            given = gold_arguments(tool, case, dice)
            if kind == "number where a string is wanted":
                given = digits_for_a_text(tool, given, dice) or given
            damaged = kinds[kind](tool, given, dice)
            if damaged is not None:
                healable = kinds is REPAIRABLE and kind in kinds_that_fit(kinds, tool)
                fault = ArgumentFault(kind, damaged, healable)
                return PlannedCall(case, tool.reference, given, argument_fault=fault)
    raise LookupError(f"no kind of fault fits {tool.reference}")


def tool_of(call: PlannedCall) -> Tool:
    """The tool that a call asks for."""
    return BY_REFERENCE[call.tool]
