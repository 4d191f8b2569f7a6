"""The tables that `docs/benchmarks.md` shows, and the bars; Markdown on standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from benchmarks.faults.figures import ATTEMPTS_META, facts_of
from benchmarks.faults.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.faults.figures import Figures

_COLUMNS: Final = (
    Verdict.WRONG,
    Verdict.MISSHAPEN,
    Verdict.REFUSED,
    Verdict.NEEDS_HUMAN,
    Verdict.UNKNOWN,
    Verdict.UNKNOWN_READ,
    Verdict.DENIED,
)
_MOST_LISTED: Final = 40
HEALABLE_TASKS: Final = 0.989
FULL_TASKS: Final = 0.96
SILENTLY_WRONG: Final = 0.0002
OVERHEAD_MS: Final = 50.0
RECOVERY_MS: Final = 200.0


def systems_table(all_figures: Sequence[Figures]) -> Iterator[str]:
    """One line for each system: tasks done, and what became of the calls."""
    names = " | ".join(str(column) for column in _COLUMNS)
    yield f"| | tasks done (95 %) | but unknown | {names} | duplicated effects | extra calls |"
    yield "|---|---|---|" + "---:|" * (len(_COLUMNS) + 2)
    for figures in all_figures:
        verdicts = figures.verdicts()
        cells = " | ".join(str(verdicts[column]) for column in _COLUMNS)
        yield (
            f"| {figures.title} | {_share(figures.tasks_done())} "
            f"| {_share(figures.tasks_done(but_unknown=True))} | {cells} "
            f"| {len(figures.duplicates())} | {figures.extra_calls():.1%} |"
        )


def kinds_table(figures: Figures) -> Iterator[str]:
    """One line for each kind of fault."""
    names = " | ".join(str(column) for column in _COLUMNS)
    title = f"{figures.title}: kind"
    yield f"| {title} | calls | done (95 %) | {names} | duplicated | recovery p50, p95 ms |"
    yield "|---|---:|---|" + "---:|" * (len(_COLUMNS) + 2)
    for kind, facts in figures.by_kind().items():
        done = facts["verdicts"].get(str(Verdict.DONE), 0)
        low, high = facts["done_interval"]
        cells = " | ".join(str(facts["verdicts"].get(str(column), 0)) for column in _COLUMNS)
        yield (
            f"| {kind} | {facts['calls']} | {done} ({low:.0%} to {high:.0%}) | {cells} "
            f"| {facts['duplicated_effects']} | {_times(facts['recovery_ms'])} |"
        )


def times_table(all_figures: Sequence[Figures]) -> Iterator[str]:
    """Medians and 95th percentiles in milliseconds."""
    names = [*all_figures[0].milliseconds()]
    yield "| milliseconds, p50, p95 (n) | " + " | ".join(names) + " |"
    yield "|---|" + "---:|" * len(names)
    for figures in all_figures:
        times = figures.milliseconds().values()
        cells = " | ".join(f"{_times(spread)} ({spread['n']})" for spread in times)
        yield f"| {figures.title} | {cells} |"


def listed(title: str, outcomes: Sequence[Any]) -> Iterator[str]:
    """Calls one by one, for whoever has to explain them."""
    yield f"\n{title}: {len(outcomes)}"
    for outcome in outcomes[:_MOST_LISTED]:
        facts = facts_of(outcome)
        given = "" if facts["given"] is None else f" given {facts['given']!r}"
        yield (
            f"- {facts['case']} {facts['tool']} [{facts['kind']}; {facts['fault']}] "
            f"{facts['verdict']}: {facts['code']} {facts['message'][:160]!r}"
            f" effects={facts['effects']} attempts={facts['attempts']}{given}"
            f" {facts['meta'].get(ATTEMPTS_META, '')}"
        )


def ceiling(figures: Figures) -> str:
    """What share of tasks could be done at most, by how the plan was made."""
    tasks = [task for ran in figures.runs for task in ran.plan.tasks]
    whole = sum(all(call.is_healable for call in task.calls) for task in tasks)
    return (
        f"by construction {whole / len(tasks):.1%} of the tasks hold no call that cannot be healed"
    )


def bars(figures: Figures, mix: str) -> list[tuple[str, bool]]:
    """Each bar in words with its figure, and whether it is met."""
    wrong, calls = figures.wrong_beyond_injected(), len(figures.outcomes)
    is_full = mix == "full"
    tasks = figures.tasks_done(but_unknown=is_full)[0]
    least = FULL_TASKS if is_full else HEALABLE_TASKS
    times = figures.milliseconds()
    recovery = times["recovery of transient faults, wall"]["p50"]
    own = times["recovery without waits and tool time"]["p95"]
    plain = times["overhead of calls without fault"]["p95"]
    return [
        (f"duplicated effects {len(figures.duplicates())}, at most 0", not figures.duplicates()),
        (
            f"silently wrong beyond injected {len(wrong)} of {calls} calls, at most 0.02 %",
            len(wrong) <= SILENTLY_WRONG * calls,
        ),
        (f"tasks done on the mix {mix} {tasks:.1%}, at least {least:.1%}", tasks >= least),
        (
            f"overhead p95 without fault {plain} ms, at most {OVERHEAD_MS:g}",
            plain is not None and plain <= OVERHEAD_MS,
        ),
        (
            f"overhead p95 of healed calls {own} ms, at most {OVERHEAD_MS:g}",
            own is not None and own <= OVERHEAD_MS,
        ),
        (
            f"transient faults recovered in median {recovery} ms wall, under {RECOVERY_MS:g}",
            recovery is not None and recovery < RECOVERY_MS,
        ),
    ]


def _share(interval: tuple[float, float, float]) -> str:
    mean, low, high = interval
    return f"{mean:.1%} ({low:.1%} to {high:.1%})"


def _times(spread: dict[str, float | None]) -> str:
    if spread["p50"] is None:
        return "-"
    return f"{spread['p50']:,.0f}, {spread['p95']:,.0f}"
