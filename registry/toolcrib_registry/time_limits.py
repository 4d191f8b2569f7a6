"""How long a call may take, and who decided that.

The caller's own wish comes first, then the tool's limit (a rule of the operator, then its
contract), its group's, its source's, the default. Nothing goes beyond the cap. A report of progress
can begin the time anew, up to the same cap, where that is set. Pure; what the time is spent on
(queues, attempts, pauses) all counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.call_rules import LONGEST_CALL_SECONDS
from toolcrib_protocol.errors import INVALID_ARGUMENTS, ToolError
from toolcrib_registry.call_rules import scopes_of

if TYPE_CHECKING:
    from toolcrib_protocol.call_rules import CallRules
    from toolcrib_registry.call import Call
    from toolcrib_registry.records import VersionRecord
    from toolcrib_registry.snapshot import Snapshot

DEFAULT_TIMEOUT_SECONDS: Final = 30.0
GRACE_SECONDS: Final = 2.0
"""How much later than its provider the path gives up: the provider's own words come first."""
_LONGEST_SHOWN: Final = 40
DEFAULT: Final = "default"
FROM_CONTRACT: Final = "contract"
FROM_RULES: Final = "rules"
"""Of its group or its source."""
FROM_SETTINGS: Final = "settings of the source"


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """How long one call may take.

    Attributes:
        seconds: at first.
        cap_seconds: at most, however much progress is reported.
        extends: whether a report of progress begins `seconds` anew.
    """

    seconds: float
    cap_seconds: float
    extends: bool = False


UNLIMITED_BY_RULES: Final = TimeLimit(DEFAULT_TIMEOUT_SECONDS, LONGEST_CALL_SECONDS)
"""What holds where nobody set or asked anything."""


def check_timeout(asked: float | None) -> None:
    """Refuse a limit of the caller's own that can be none.

    Raises:
        ToolError: `invalid_arguments`.
    """
    if asked is not None and not asked > 0:
        raise ToolError(
            INVALID_ARGUMENTS,
            f"{str(asked)[:_LONGEST_SHOWN]} cannot be how many seconds a call may take "
            "(`io.toolcrib/timeout_seconds`); nothing was called. Write a number above 0, or leave "
            "it out",
        )


def time_limit(
    snapshot: Snapshot, record: VersionRecord, rules: CallRules, call: Call
) -> TimeLimit:
    """The limit of one call; `rules` are those of its tool, already merged."""
    cap = min(
        rules.timeout_cap_seconds or LONGEST_CALL_SECONDS,
        call.view.timeout_seconds or LONGEST_CALL_SECONDS,
    )
    asked = call.timeout_seconds
    wanted = of_tool(snapshot, record, rules)[0] if asked is None else asked
    return TimeLimit(min(wanted, cap), cap, rules.extend_on_progress is True)


def of_tool(snapshot: Snapshot, record: VersionRecord, rules: CallRules) -> tuple[float, str]:
    """How long a call of a tool may take if its caller does not say, and who decided that."""
    told = snapshot.rules.get(scopes_of(record)[0]) if snapshot.rules else None
    if told is not None and told.rules.timeout_seconds is not None:
        return told.rules.timeout_seconds, str(told.scope)
    of_contract = record.contract.limits.timeout_seconds
    if of_contract is not None:
        return of_contract, FROM_CONTRACT
    if rules.timeout_seconds is not None:
        return rules.timeout_seconds, FROM_RULES
    of_source = _of_source(snapshot, record)
    return (DEFAULT_TIMEOUT_SECONDS, DEFAULT) if of_source is None else (of_source, FROM_SETTINGS)


def _of_source(snapshot: Snapshot, record: VersionRecord) -> float | None:
    source = snapshot.sources.get(record.source)
    told = source.spec.get("timeout_seconds") if source is not None else None
    return float(told) if isinstance(told, int | float) and told > 0 else None
