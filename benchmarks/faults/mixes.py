"""How often each family of faults occurs, as parts of all faults.

Two mixes. `healable` holds only what can be healed safely, so everything else than success is a
fault of the healer. `full` adds what nobody should heal: what cannot be guessed, a credential that
ended, a source that is gone for good with nothing in its place, a lie in the right shape, and
writes whose answer was lost.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Family(StrEnum):
    """Faults that are drawn together."""

    REPAIRABLE = "repairable arguments"
    NOT_REPAIRABLE = "arguments beyond repair"
    CRASH = "crash"
    KILL_UPSTREAM = "kill -9 of the upstream"
    RESET = "reset"
    SERVER_ERROR = "5xx"
    RATE_LIMITED = "429 with Retry-After"
    HANG = "hang"
    SLOW = "slow"
    MALFORMED = "malformed JSON"
    WRONG_SHAPE = "wrong shape"
    WRONG_VALUE = "silently wrong value"
    AUTH = "auth (401)"
    GONE = "down or gone for good"
    KILL_GATEWAY = "kill -9 of the gateway"


MIXES: Final[dict[str, dict[Family, float]]] = {
    "healable": {
        Family.REPAIRABLE: 40,
        Family.CRASH: 6,
        Family.KILL_UPSTREAM: 4,
        Family.RESET: 9,
        Family.SERVER_ERROR: 9,
        Family.RATE_LIMITED: 11,
        Family.HANG: 4,
        Family.SLOW: 4,
        Family.MALFORMED: 3,
        Family.WRONG_SHAPE: 2,
        Family.GONE: 8,
    },
    "full": {
        Family.REPAIRABLE: 32,
        Family.NOT_REPAIRABLE: 2.5,
        Family.CRASH: 5,
        Family.KILL_UPSTREAM: 2.5,
        Family.RESET: 6,
        Family.SERVER_ERROR: 7.5,
        Family.RATE_LIMITED: 10,
        Family.HANG: 8,
        Family.SLOW: 2,
        Family.MALFORMED: 3,
        Family.WRONG_SHAPE: 3,
        Family.WRONG_VALUE: 3,
        Family.AUTH: 4,
        Family.GONE: 10,
        Family.KILL_GATEWAY: 1.5,
    },
}
