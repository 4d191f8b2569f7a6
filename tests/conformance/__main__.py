"""Compares the everything-server alone with the same server behind toolcrib, and prints a table.

python -m tests.conformance                          every scenario of both revisions
python -m tests.conformance --version 2026-07-28     of one of them
python -m tests.conformance --scenario ping          one scenario, with what went wrong in it
python -m tests.conformance --main                   at /mcp instead of /mcp/{group}
python -m tests.conformance --extensions             also what no revision requires (tasks)
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import anyio
from rich.console import Console
from rich.table import Table

from tests.conformance.everything import GROUP, behind_toolcrib, everything_server
from tests.conformance.kit import default_folder, fetched
from tests.conformance.suite import VERSIONS, Outcome, Outcomes, run_suite, total

if TYPE_CHECKING:
    from tests.conformance.kit import Kit


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be run."""

    versions: tuple[str | None, ...]
    scenarios: tuple[str, ...]
    at_main: bool


async def compare(kit: Kit, wish: Wish) -> bool:
    """Run and print; whether nothing is worse behind toolcrib."""
    same = True
    with TemporaryDirectory() as folder:
        home = Path(folder)
        async with (
            everything_server(kit, log=home / "everything.log") as upstream,
            behind_toolcrib(upstream, home / "home") as main,
        ):
            endpoint = main if wish.at_main else f"{main}/{GROUP}"
            for version in wish.versions:
                runs = [
                    await run_suite(kit, url, version=version, scenarios=wish.scenarios)
                    for url in (upstream, endpoint)
                ]
                same &= show(version or "every scenario", *runs)
    return same


def show(title: str, alone: Outcomes, behind: Outcomes) -> bool:
    """Print both runs side by side; whether they agree."""
    table = Table("scenario", "alone", "behind toolcrib", "faults", title=title)
    lines = {**{name: alone.get(name) for name in behind}, **alone}
    for name in lines:
        before, after = alone.get(name), behind.get(name)
        style = None if _counts(before) == _counts(after) else "bold red"
        table.add_row(
            name, str(before), str(after), "\n".join(after.faults if after else ()), style=style
        )
    table.add_section()
    table.add_row("total", str(total(alone)), str(total(behind)), "")
    Console(width=200).print(table)
    return all(_counts(alone.get(name)) == _counts(behind.get(name)) for name in lines)


def _counts(outcome: Outcome | None) -> tuple[int, int]:
    return (outcome.passed, outcome.failed) if outcome else (0, 0)


def main() -> None:
    """Read the command line and compare."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--version", choices=VERSIONS, action="append")
    parser.add_argument("--scenario", action="append", default=[])
    parser.add_argument("--main", action="store_true")
    parser.add_argument("--extensions", action="store_true")
    given = parser.parse_args()
    versions = (*(given.version or VERSIONS), *([None] if given.extensions else []))
    wish = Wish(versions, tuple(given.scenario), given.main)
    kit = fetched(default_folder())
    sys.exit(0 if anyio.run(compare, kit, wish) else 1)


if __name__ == "__main__":
    main()
