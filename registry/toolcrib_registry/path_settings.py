"""What holds on the path of the calls of one tool, and who decided it: for people.

The one list of the defaults of the path, with the constants that the stages use themselves;
`docs/reliable-calls.md` shows it, and a test compares both. Decides nothing. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.call_rules import LONGEST_CALL_SECONDS, CallRules, RepairMode, WhenFull
from toolcrib_registry import (
    circuit,
    equivalents,
    healing,
    ledger,
    pace,
    repeat_guard,
    result_cache,
    retry_budget,
    retrying,
)
from toolcrib_registry.call_rules import rules_for, scopes_of
from toolcrib_registry.fallback import MOST_STAND_INS
from toolcrib_registry.handles.keeping import DEFAULT_MOST_BYTES, DEFAULT_SECONDS
from toolcrib_registry.interaction import ANSWER_SECONDS
from toolcrib_registry.limits.gate_limits import DEFAULT_CAP, DEFAULT_QUEUE, limits_of
from toolcrib_registry.places import MOST_WAITING
from toolcrib_registry.stored_answers import LARGEST_ANSWER
from toolcrib_registry.time_limits import (
    DEFAULT,
    DEFAULT_TIMEOUT_SECONDS,
    FROM_CONTRACT,
    FROM_RULES,
    GRACE_SECONDS,
    of_tool,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.records import VersionRecord
    from toolcrib_registry.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class PathSetting:
    """One setting as it holds for a tool.

    Attributes:
        name: of the rule that sets it.
        value: what holds.
        origin: who decided: a scope of rules, the contract, the source's settings, the default.
    """

    name: str
    value: Json
    origin: str


@dataclass(frozen=True, slots=True)
class PathDefault:
    """One line of the table.

    Attributes:
        name: of the rule that sets it; of what cannot be set, in words.
        value: what holds where nothing is set.
        meaning: in words.
    """

    name: str
    value: Json
    meaning: str


_MIB: Final = 1024 * 1024
RULE_DEFAULTS: Final = (
    PathDefault("timeout_seconds", DEFAULT_TIMEOUT_SECONDS, "how long a call may take"),
    PathDefault(
        "timeout_cap_seconds",
        LONGEST_CALL_SECONDS,
        "how long at most, whatever the caller asks or progress extends",
    ),
    PathDefault("extend_on_progress", value=False, meaning="whether progress begins the time anew"),
    PathDefault("repair", RepairMode.REPAIR.value, "what is done with arguments that do not fit"),
    PathDefault(
        "retries", retrying.DEFAULT_RETRIES, "how often a call is repeated where that is harmless"
    ),
    PathDefault("equivalents", [], "tools that the operator approves as stand-ins"),
    PathDefault("repeats", value=False, meaning="whether a failing call may be made for ever"),
    PathDefault("cache_seconds", 0, "how long a result of a tool that only reads is good for"),
    PathDefault("cache_shared", value=False, meaning="whether callers share such results"),
    PathDefault("max_result_bytes", DEFAULT_MOST_BYTES, "larger results are kept under a handle"),
    PathDefault("handle_seconds", DEFAULT_SECONDS, "how long a kept result is kept"),
    PathDefault("results_may_go_to", [], "other sources that may be given a kept result"),
    PathDefault("capture", value=False, meaning="whether arguments and results are kept"),
    PathDefault("capture_until", None, "until when they are, in seconds since 1970"),
)
"""Of the rules that an operator can set for a tool, a group or a source: the narrowest holds."""

GATE_DEFAULTS: Final = (
    PathDefault("max_concurrency", DEFAULT_CAP, "calls at once; the default is a source's"),
    PathDefault("calls_per_second", None, "calls that may begin in a second"),
    PathDefault("burst", None, "calls at once after a pause; unset: a second's worth"),
    PathDefault("queue_length", DEFAULT_QUEUE, "calls that may wait"),
    PathDefault("when_full", WhenFull.WAIT.value, "whether a call waits at a full gate"),
)
"""Of gates: a call passes that of its tool, that of its group and that of its source."""

FIXED: Final = (
    PathDefault("first pause before a retry, s", retrying.FIRST_PAUSE_SECONDS,
                "anything from 0 up to that, doubled with each retry (full jitter)"),
    PathDefault("longest pause, s", retrying.LONGEST_PAUSE_SECONDS, "where nobody asked for more"),
    PathDefault("first pause after a rate limit, s", retrying.BUSY_PAUSE_SECONDS,
                "where the source does not say when to come back"),
    PathDefault("share of retries", retry_budget.SHARE, "of the calls of a source"),
    PathDefault("retries always allowed", retry_budget.FLOOR, "a source and window"),
    PathDefault("window of the retry budget, s", retry_budget.WINDOW_SECONDS, "sliding"),
    PathDefault("an attempt's part of the time left", pace.ATTEMPTS_PART,
                "of calls that may be repeated, once a tool is known to be quick"),
    PathDefault("attempts that get only a part", pace.CUT_ATTEMPTS, "later ones get the rest"),
    PathDefault("times the slowest answer", pace.TIMES_SLOWEST,
                "an attempt gets at least that long"),
    PathDefault("answers to know a tool", pace.CALLS_TO_KNOW, "before that nothing is cut"),
    PathDefault("shortest attempt, s", pace.LEAST_SECONDS, "is not cut below that"),
    PathDefault("failures that open a breaker", circuit.FAILURES_TO_OPEN,
                "more than there were successes since"),
    PathDefault("first opening of a breaker, s", circuit.FIRST_OPEN_SECONDS,
                "doubled with each look that fails"),
    PathDefault("longest opening, s", circuit.LONGEST_OPEN_SECONDS, "give or take a fifth"),
    PathDefault("absence waited for, s", retrying.LONGEST_ABSENCE_SECONDS,
                "of a source or a breaker; what is tried again later is told at once"),
    PathDefault("tries while it is away", retrying.ABSENCE_RETRIES,
                "they never leave, so they are no load"),
    PathDefault("wait for a lost connection, s", healing.RECONNECT_SECONDS,
                "where another tool could answer; elsewhere as long as the call may take"),
    PathDefault("pause before stand-ins are asked, s", healing.QUICK_SECONDS,
                "a longer one comes after them"),
    PathDefault("time kept for stand-ins", round(healing.RESERVED_PART, 2),
                "of the time of a call with declared ones, or with a smaller form"),
    PathDefault("stand-ins asked", MOST_STAND_INS, "one after the other"),
    PathDefault("likeness of derived stand-ins", equivalents.LEAST_LIKENESS,
                "part of the words of both descriptions"),
    PathDefault("repetitions remembered, s", repeat_guard.WINDOW_SECONDS,
                "a failing call that comes again within that gets a lesson first"),
    PathDefault("lessons in a row", repeat_guard.MOST_LESSONS,
                "at most; one after the first failure, twice as many after each further one"),
    PathDefault("same answer, s", repeat_guard.SAME_ANSWER_SECONDS,
                "a third call within that is answered from memory, in one conversation; so long "
                "a failed reading counts as a repetition"),
    PathDefault("remembered answers, MiB", result_cache.MOST_BYTES // _MIB,
                "together; the least recently used go first"),
    PathDefault("largest remembered answer, MiB", result_cache.LARGEST_REMEMBERED // _MIB,
                "a larger one is asked for anew"),
    PathDefault("largest answer kept for a key, MiB", LARGEST_ANSWER // _MIB,
                "a larger one is not given again"),
    PathDefault("lease of a call in the ledger, s", ledger.LEASE_SECONDS,
                "an owner elsewhere that was silent for so long counts as dead"),
    PathDefault("grace, s", GRACE_SECONDS, "how much later than the source the path gives up"),
    PathDefault("time to answer a question, s", ANSWER_SECONDS,
                "for a person; the time of the call stands still"),
    PathDefault("calls waiting for a profile", MOST_WAITING, "more are refused at once"),
)  # fmt: skip
"""What is the same for every tool."""
_SETTABLE: Final = (*RULE_DEFAULTS, *GATE_DEFAULTS)


def settings_of(snapshot: Snapshot, record: VersionRecord) -> list[PathSetting]:
    """What holds for the calls of a tool, in the order of the table."""
    rules = rules_for(snapshot, record)
    contract: Mapping[str, Json] = {
        "max_result_bytes": record.contract.limits.max_result_bytes,
    }
    found = []
    for default in RULE_DEFAULTS:
        if default.name == "timeout_seconds":
            seconds, origin = of_tool(snapshot, record, rules)
            value: Json = min(seconds, rules.timeout_cap_seconds or LONGEST_CALL_SECONDS)
            if origin == FROM_RULES:
                origin = _scope(snapshot, record, default.name)
        elif default.name in rules.is_set:
            value, origin = rules.as_json()[default.name], _scope(snapshot, record, default.name)
        elif contract.get(default.name) is not None:
            value, origin = contract[default.name], FROM_CONTRACT
        else:
            value, origin = default.value, DEFAULT
        found.append(PathSetting(default.name, value, origin))
    return found


def _scope(snapshot: Snapshot, record: VersionRecord, name: str) -> str:
    """The narrowest scope whose rules set `name`."""
    scopes = (scope for scope in scopes_of(record) if scope in snapshot.rules)
    return next(str(scope) for scope in scopes if name in snapshot.rules[scope].rules.is_set)


def gates_of(snapshot: Snapshot, record: VersionRecord) -> list[JsonObject]:
    """The gates that the calls of a tool pass, with what they let through and who decided it."""
    return [
        {
            "scope": str(gate.scope),
            "max_concurrency": gate.cap,
            "max_concurrency_from": gate.cap_by,
            "calls_per_second": gate.rate,
            "calls_per_second_from": gate.rate_by,
        }
        for gate in limits_of(snapshot, record)
    ]


def unlisted_rules() -> frozenset[str]:
    """Rules that the table lacks."""
    listed = {default.name for default in (*RULE_DEFAULTS, *GATE_DEFAULTS)}
    return frozenset(CallRules.model_fields) - listed


def as_markdown() -> str:
    """The table, as `docs/reliable-calls.md` shows it."""
    rows = ["| setting | default | what it is |", "|---|---|---|"]
    rows += [f"| `{one.name}` | {_shown(one.value)} | {one.meaning} |" for one in _SETTABLE]
    rows += [f"| {one.name} | {_shown(one.value)} | {one.meaning} |" for one in FIXED]
    return "\n".join(rows)


def _shown(value: Json) -> str:
    if value is None or value == []:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,g}" if isinstance(value, int | float) else str(value)
