"""Many upstreams and many callers for minutes, and what may not suffer from what.

    python -m benchmarks.soak [--upstreams 100] [--callers 1000] [--seconds 300] [--json]

One `toolcrib serve` with HTTP upstreams that are well; then one of them fails for good while others
are used as fast as they answer; then fast calls beside fifty slow ones; then remembered results.
Ends with 1 if a bar is missed. Needs Linux (`/proc`).
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any, Final

import anyio

from benchmarks.soak.crib import soaked
from benchmarks.soak.phases import beside_slow, cached, failing, healthy, warm

if TYPE_CHECKING:
    from benchmarks.soak.crib import Soaked

SUCCEED: Final = 0.9995
LOST: Final = 0.05
FAST_MS: Final = 100.0
LESS: Final = 0.9
GROWTH_MIB: Final = 10.0
"""How much memory more of the same may take: what allocators do, not a leak."""
MORE_DESCRIPTORS: Final = 20
MORE_TASKS: Final = 5


def main() -> None:
    """Run, print, and judge."""
    options = _options()
    with soaked(options.upstreams) as crib:
        figures = anyio.run(phases, crib, options)
    results = bars(figures)
    if options.json:
        print(json.dumps({**figures, "bars": results}))
    else:
        for name, facts in figures.items():
            print(f"\n**{name}**\n")
            for key, value in facts.items():
                print(f"- {key}: {value}")
        for words, is_met in results:
            print(f"{'met   ' if is_met else 'MISSED'} {words}")
    sys.exit(0 if all(is_met for _, is_met in results) else 1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--upstreams", type=int, default=100)
    parser.add_argument("--callers", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=300.0, help="of the healthy phase")
    parser.add_argument("--rate", type=float, default=60.0, help="calls a second, all callers")
    parser.add_argument("--window", type=float, default=5.0, help="seconds, of the failing phase")
    parser.add_argument("--windows", type=int, default=4, help="of each side")
    parser.add_argument("--calls", type=int, default=200, help="of the cache phase")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


async def phases(crib: Soaked, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """The figures of each phase."""
    """The figures of each phase."""
    await warm(crib)
    return {
        "healthy": await healthy(crib, options.callers, options.seconds, options.rate),
        "one source fails": await failing(crib, options.window, options.windows),
        "beside slow calls": await beside_slow(crib, min(20, options.calls)),
        "cache": await anyio.to_thread.run_sync(cached, crib, options.calls),
    }


def bars(figures: dict[str, dict[str, Any]]) -> list[tuple[str, bool]]:
    """Each bar in words with its figure, and whether it is met."""
    well, ill = figures["healthy"], figures["one source fails"]
    slow, cache = figures["beside slow calls"], figures["cache"]
    before, after = well["after"], well["after_more"]
    grown = after["rss_mib"] - before["rss_mib"]
    descriptors = after["descriptors"] - before["descriptors"]
    tasks = after["tasks"] - before["tasks"]
    return [
        (
            f"{well['succeeded']:.3%} of {well['calls']} calls succeed, at least {SUCCEED:.2%}",
            well["succeeded"] >= SUCCEED,
        ),
        (
            f"failures that no refusal explains {sum(well['failures'].values())}, at most 0",
            not well["failures"],
        ),
        (
            f"more of the same took {grown:.1f} MiB more memory, at most {GROWTH_MIB:g}",
            grown <= GROWTH_MIB,
        ),
        (
            f"{descriptors} more descriptors, at most {MORE_DESCRIPTORS}",
            descriptors <= MORE_DESCRIPTORS,
        ),
        (f"{tasks} more tasks, at most {MORE_TASKS}", tasks <= MORE_TASKS),
        *(
            (
                f"a source that is {way} costs others {facts['lost']:.1%}, at most {LOST:.0%}",
                facts["lost"] <= LOST,
            )
            for way, facts in ill.items()
        ),
        (
            f"a fast call beside slow ones at most {slow['fast_most_ms']} ms, bar {FAST_MS:g}",
            slow["fast_most_ms"] <= FAST_MS,
        ),
        (f"repeats take {cache['less']:.1%} less time, at least {LESS:.0%}", cache["less"] >= LESS),
    ]


if __name__ == "__main__":
    main()
