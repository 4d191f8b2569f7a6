"""Faults at the wire, and what gateways make of them.

    python -m benchmarks.faults [--mix healable full] [--rate 0.065] [--seeds 101 102 ...]
                                [--systems full nothing ...] [--tasks 200] [--json]
    python -m benchmarks.faults --held-out

Draws the published plan of each seed, makes its tasks through each system, one call at a time, and
tells what became of them, by the upstreams' own books. Ends with 1 if toolcrib misses a bar. The
held-out seeds are for one run at the end. Needs Linux; FastMCP is installed into a temporary
environment of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from benchmarks.faults.drills import drills_table, run_drills
from benchmarks.faults.figures import Figures
from benchmarks.faults.mixes import MIXES
from benchmarks.faults.plan import DEVELOPMENT, HELD_OUT, TASKS, drawn_plan
from benchmarks.faults.report import bars, ceiling, kinds_table, listed, systems_table, times_table
from benchmarks.faults.run import run
from benchmarks.faults.systems import ALL, Fastmcp, System, Toolcrib
from benchmarks.gateway_cpu import fastmcp_python

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.faults.run import Ran

TOOLCRIBS = {
    "nothing": ("toolcrib, healing off", ()),
    "retry": ("+ retry", ("retry",)),
    "repair": ("+ repair", ("repair",)),
    "retry+repair": ("+ retry and repair", ("retry", "repair")),
    "full": ("toolcrib (+ fallback)", ALL),
}
PEERS = {"fastmcp": "default", "fastmcp-any": "any"}


def main() -> None:
    """Run, and print Markdown tables or JSON."""
    options = _options()
    seeds = HELD_OUT if options.held_out else tuple(options.seeds)
    document: dict[str, Any] = {"seeds": seeds, "rate": options.rate, "mixes": {}}
    is_met = True
    with ExitStack() as stack:
        wants_peer = any(name in PEERS for name in options.systems)
        python = stack.enter_context(fastmcp_python(is_wanted=wants_peer, has=options.fastmcp))
        for mix in options.mix:
            found = [_figures(name, mix, seeds, options, python) for name in options.systems]
            document["mixes"][mix] = [figures.as_json() for figures in found]
            is_met &= _told(mix, found, options)
        if options.drills:
            drills = run_drills(options.drills)
            document["drills"] = drills
            if not options.json:
                print("\n".join(drills_table(drills)))
    if options.json:
        print(json.dumps(document, ensure_ascii=False, default=str))
    sys.exit(0 if is_met else 1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    names = [*TOOLCRIBS, *PEERS]
    parser.add_argument("--mix", nargs="+", default=["healable", "full"], choices=[*MIXES])
    parser.add_argument("--rate", type=float, default=0.065, help="faults a call")
    parser.add_argument("--seeds", type=int, nargs="+", default=[*DEVELOPMENT])
    parser.add_argument("--held-out", action="store_true", help="the other half of the seeds")
    parser.add_argument("--systems", nargs="+", default=names, choices=names)
    parser.add_argument("--tasks", type=int, default=TASKS, help="of each seed, the first ones")
    parser.add_argument("--drills", type=int, default=20, help="kills of each kind; 0 for none")
    parser.add_argument("--lanes", type=int, default=1, help="seeds at the same time")
    parser.add_argument("--fastmcp", help="a Python that has FastMCP already")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _system(name: str, python: Path | None) -> System:
    if name in PEERS:
        assert python is not None
        kind = PEERS[name]
        return Fastmcp(f"FastMCP proxy, retry on {kind} errors", python=python, kind=kind)
    title, parts = TOOLCRIBS[name]
    return Toolcrib(title, parts=parts)


def _figures(
    name: str, mix: str, seeds: tuple[int, ...], options: argparse.Namespace, python: Path | None
) -> Figures:
    def one(seed: int) -> Ran:
        ran = run(drawn_plan(seed, mix, options.rate, options.tasks), _system(name, python))
        print(f"{mix} {name} {seed}", file=sys.stderr, flush=True)
        return ran

    with ThreadPoolExecutor(options.lanes) as lanes:
        return Figures(_system(name, python).title, [*lanes.map(one, seeds)])


def _told(mix: str, found: list[Figures], options: argparse.Namespace) -> bool:
    """Print the tables of a mix; whether toolcrib met its bars, if it was among the systems."""
    ours = [figures for name, figures in zip(options.systems, found, strict=True) if name == "full"]
    results = bars(ours[0], mix) if ours else []
    if not options.json:
        calls = len(found[0].outcomes)
        tasks = sum(len(ran.tasks) for ran in found[0].runs)
        print(
            f"\n### Mix `{mix}`, {options.rate:.1%} faults a call, {tasks} tasks, {calls} calls\n"
        )
        tables = [systems_table(found), times_table(found), *map(kinds_table, ours)]
        print("\n\n".join("\n".join(table) for table in tables))
        for figures in ours:
            print(f"\n{ceiling(figures)}")
            print("\n".join(listed("silently wrong", figures.wrong_beyond_injected())))
            print("\n".join(listed("happened, reported failed", figures.denied())))
            print("\n".join(listed("duplicated effects", figures.duplicates())))
            print("\n".join(listed("not healed, though healable", figures.unhealed())))
        for words, is_met in results:
            print(f"{'met   ' if is_met else 'MISSED'} {words}")
    return all(is_met for _, is_met in results)


if __name__ == "__main__":
    main()
