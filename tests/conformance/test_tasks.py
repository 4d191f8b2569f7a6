"""The tasks extension behind toolcrib: every scenario of the suite passes at a group's endpoint.

The SDK's everything-server has no tasks, so a small server that has the tools which the scenarios
name stands in for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.adapters.surfaces.interaction.counter import started
from tests.conformance.everything import GROUP, behind_toolcrib
from tests.conformance.kit import kit
from tests.conformance.suite import Outcome, differences, run_suite, total

if TYPE_CHECKING:
    from pathlib import Path

SCENARIOS: Final = (
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
    "tasks-status-notifications",
    "tasks-required-task-error",
    "tasks-mrtr-composition",
)
CHECKS: Final = 44


@pytest.mark.promise("conformance-tasks")
async def test_every_tasks_scenario_passes_behind_toolcrib(tmp_path: Path) -> None:
    tools = kit()
    async with started("tasks_server.py", "http") as url, behind_toolcrib(url, tmp_path) as main:
        alone = await run_suite(tools, url, scenarios=SCENARIOS)
        behind = await run_suite(tools, f"{main}/{GROUP}", scenarios=SCENARIOS)
    assert total(alone) == Outcome(CHECKS, 0), [o.faults for o in alone.values()]
    assert differences(alone, behind) == []
