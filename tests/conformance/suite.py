"""Runs the official suite against an address, and reads what each scenario came to."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import anyio

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.conformance.kit import Kit

VERSIONS: Final = ("2025-11-25", "2026-07-28")
"""The revisions that are run; the first one stands for the generation with a handshake."""
_SUITE_SECONDS: Final = 300
_FOLDER: Final = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT.*")
_COUNTED: Final = {"SUCCESS": "passed", "FAILURE": "failed"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one scenario came to: its checks by status, and the words of those that failed."""

    passed: int
    failed: int
    faults: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed"


Outcomes = dict[str, Outcome]


async def run_suite(
    kit: Kit, url: str, *, version: str | None = None, scenarios: Iterable[str] = ()
) -> Outcomes:
    """The outcome of each scenario, by its name.

    Args:
        kit: the fetched suite.
        url: the endpoint.
        version: the revision whose scenarios are run; None for all there are, extensions included.
        scenarios: run these alone, one after the other.
    """
    choices = [("--scenario", name) for name in scenarios] or [("--suite", "all")]
    at = ("--spec-version", version) if version else ()
    outcomes: Outcomes = {}
    with TemporaryDirectory() as folder:
        for choice in choices:
            command = [str(kit.node), str(kit.suite), "server", "--url", url, *choice, *at]
            with anyio.fail_after(_SUITE_SECONDS):
                done = await anyio.run_process([*command, "-o", folder], check=False)
            if done.returncode not in {0, 1}:
                raise AssertionError(f"the suite did not run: {done.stderr.decode()}")
        for checks in sorted(Path(folder).glob("*/checks.json")):
            match = _FOLDER.fullmatch(checks.parent.name)
            assert match is not None, checks
            outcomes[match["scenario"]] = _outcome(json.loads(checks.read_text()))
    return outcomes


def _outcome(checks: list[Mapping[str, object]]) -> Outcome:
    counts = {"passed": 0, "failed": 0}
    faults = []
    for check in checks:
        counted = _COUNTED.get(str(check["status"]))
        if counted is not None:
            counts[counted] += 1
        if counted == "failed":
            faults.append(f"{check['id']}: {check.get('errorMessage') or check.get('details')}")
    return Outcome(counts["passed"], counts["failed"], tuple(faults))


def total(outcomes: Outcomes) -> Outcome:
    """The sum of all scenarios."""
    return Outcome(
        sum(outcome.passed for outcome in outcomes.values()),
        sum(outcome.failed for outcome in outcomes.values()),
    )


def differing(alone: Outcomes, behind: Outcomes) -> list[str]:
    """The scenarios in which a server comes to something else behind toolcrib than alone."""
    return [name for name in sorted(alone) if _counts(alone[name]) != _counts(behind.get(name))]


def differences(alone: Outcomes, behind: Outcomes) -> list[str]:
    """The same in words."""
    return [
        f"{name}: alone {alone[name]}, behind toolcrib {behind.get(name, 'not run')}; "
        + "; ".join(behind[name].faults if name in behind else ())
        for name in differing(alone, behind)
    ]


def _counts(outcome: Outcome | None) -> tuple[int, int] | None:
    return None if outcome is None else (outcome.passed, outcome.failed)
