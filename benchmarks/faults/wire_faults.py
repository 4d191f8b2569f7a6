"""What happens to a call between the gateway and its upstream.

A fault is transient (the first one or two attempts meet it) or lasts (every attempt at that tool
does); it strikes before the upstream has done anything, after, or between calls. The proxies carry
it out; nothing here does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks.faults.mixes import Family
from benchmarks.faults.toolset import Effect

if TYPE_CHECKING:
    from benchmarks.faults.dice import Dice
    from benchmarks.faults.toolset import Tool

FOR_EVER: Final = 1_000
TWICE: Final = 0.2
"""How often a transient fault meets the second attempt as well."""
BEFORE: Final = "before"
AFTER: Final = "after"
IDLE: Final = "idle"
"""Between calls: the upstream dies, and the next call finds it dead."""


@dataclass(frozen=True)
class WireFault:
    """One fault.

    Attributes:
        kind: the family.
        way: what exactly the proxy does.
        tool: the reference that meets it; equivalents do not.
        moment: before or after the upstream acts, or idle.
        times: how many attempts meet it.
        is_healable: whether the call should succeed in spite of it.
        seconds: how long, where it lasts.
    """

    kind: str
    way: str
    tool: str
    moment: str
    times: int
    is_healable: bool
    seconds: float = 0.0


_DEATHS: Final = {Family.CRASH: "crash", Family.KILL_UPSTREAM: "kill", Family.RESET: "reset"}
_LOST_ANSWER: Final = frozenset({*_DEATHS, Family.SERVER_ERROR, Family.HANG, Family.MALFORMED})
"""After these nobody knows whether the upstream acted, unless nothing was sent."""
_EITHER_MOMENT: Final = _LOST_ANSWER | {Family.KILL_GATEWAY}
_GONE_WAYS: Final = ("unknown_tool", "no_method", "crash", "error_502", "reset")


def drawn_wire_fault(family: Family, tool: Tool, mix: str, dice: Dice) -> WireFault:
    """A fault of that family at that tool; in the mix `healable` one that can be healed there."""
    if mix == "healable":
        family = _healable_family(family, tool, dice)
    times = 2 if dice.chance(TWICE) else 1
    if family is Family.GONE:
        return _gone(tool, dice)
    if family in _DEATHS:
        return _death(family, tool, times, mix, dice)
    way, seconds = _way(family, mix, dice)
    moment = dice.pick((BEFORE, AFTER)) if family in _EITHER_MOMENT else BEFORE
    if family in _FOR_EVER_KINDS:
        times = FOR_EVER
    is_healable = _is_healable(family, way) and not _is_in_doubt(family, tool, moment)
    return WireFault(str(family), way, tool.reference, moment, times, is_healable, seconds)


_FOR_EVER_KINDS: Final = frozenset({Family.AUTH, Family.WRONG_VALUE, Family.WRONG_SHAPE})


def _healable_family(family: Family, tool: Tool, dice: Dice) -> Family:
    """The family, or another one where this one could not be healed at this tool."""
    if family is Family.GONE and not tool.equivalents:
        family = dice.pick((Family.CRASH, Family.RESET, Family.RATE_LIMITED))
    is_in_doubt = family in _LOST_ANSWER and family not in _DEATHS
    if tool.effect is Effect.PLAIN and is_in_doubt:
        return dice.pick((Family.RATE_LIMITED, Family.SLOW))
    return family


def _death(family: Family, tool: Tool, times: int, mix: str, dice: Dice) -> WireFault:
    moments: tuple[str, ...] = (IDLE, BEFORE, AFTER)
    if mix == "healable" and tool.effect is Effect.PLAIN:
        moments = (IDLE,)
    moment = dice.pick(moments)
    if moment == IDLE:
        # The upstream is there again when the next attempt comes.
        times = 1
    is_healable = not _is_in_doubt(family, tool, moment)
    return WireFault(str(family), _DEATHS[family], tool.reference, moment, times, is_healable)


def _gone(tool: Tool, dice: Dice) -> WireFault:
    """Down for as long as anybody asks; whether it can be healed depends on who stands in."""
    way, has_equivalent = dice.pick(_GONE_WAYS), bool(tool.equivalents)
    return WireFault(str(Family.GONE), way, tool.reference, BEFORE, FOR_EVER, has_equivalent)


def _way(family: Family, mix: str, dice: Dice) -> tuple[str, float]:
    if family is Family.SERVER_ERROR:
        return dice.pick(("error_500", "error_502", "error_503", "error_504")), 0.0
    if family is Family.RATE_LIMITED:
        return "rate_limited", dice.pick((0.1, 0.3, 1.0))
    if family is Family.SLOW:
        return "slow", dice.pick((0.3, 0.6, 0.9))
    if family is Family.WRONG_SHAPE:
        mendable = ("as_text", "wrapped_result")
        return dice.pick(
            mendable if mix == "healable" else (*mendable, "lost_key", "other_type")
        ), 0
    return _WAYS[family], 0.0


_WAYS: Final = {
    Family.HANG: "hang",
    Family.MALFORMED: "malformed",
    Family.WRONG_VALUE: "wrong_value",
    Family.AUTH: "signed_out",
    Family.KILL_GATEWAY: "kill_gateway",
}
_NEVER: Final = frozenset({Family.WRONG_VALUE, Family.AUTH})


def _is_healable(family: Family, way: str) -> bool:
    return family not in _NEVER and way not in {"lost_key", "other_type"}


def _is_in_doubt(family: Family, tool: Tool, moment: str) -> bool:
    """Whether nobody but the upstream knows what happened, and repeating may do harm."""
    may_have_acted = family in _EITHER_MOMENT and moment != IDLE
    return tool.effect is Effect.PLAIN and may_have_acted
