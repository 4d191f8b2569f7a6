"""The everything-server passes the official suite: the measure for the same server behind toolcrib.

A test for each revision; `python -m tests.conformance` shows the same as a table.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
import yaml

from tests.conformance.everything import GROUP, behind_toolcrib, everything_server
from tests.conformance.kit import kit
from tests.conformance.suite import Outcome, differences, differing, run_suite, total

PASSED_ALONE: Final = {"2025-11-25": 84, "2026-07-28": 152}


@pytest.mark.parametrize("version", PASSED_ALONE)
async def test_the_everything_server_passes_every_check_alone(version: str, tmp_path: Path) -> None:
    tools = kit()
    async with everything_server(tools, log=tmp_path / "everything.log") as url:
        alone = await run_suite(tools, url, version=version)
    assert total(alone) == Outcome(PASSED_ALONE[version], 0)


@pytest.mark.promise("conformance-behind-toolcrib")
@pytest.mark.parametrize("version", PASSED_ALONE)
async def test_the_everything_server_passes_the_same_checks_behind_toolcrib(
    version: str, tmp_path: Path
) -> None:
    tools = kit()
    async with (
        everything_server(tools, log=tmp_path / "everything.log") as url,
        behind_toolcrib(url, tmp_path / "home") as main,
    ):
        alone = await run_suite(tools, url, version=version)
        endpoint = f"{main}/{GROUP}"
        behind = await run_suite(tools, endpoint, version=version)
        # Some checks give a notice a second and a half, which a busy machine may need for less.
        if slow := differing(alone, behind):
            behind |= await run_suite(tools, endpoint, version=version, scenarios=slow)
    assert differences(alone, behind) == []


@pytest.mark.promise("conformance-plain-endpoint")
@pytest.mark.parametrize("version", PASSED_ALONE)
async def test_at_the_plain_endpoint_fails_what_is_listed_with_a_reason(
    version: str, tmp_path: Path
) -> None:
    tools = kit()
    async with (
        everything_server(tools, log=tmp_path / "everything.log") as url,
        behind_toolcrib(url, tmp_path / "home") as main,
    ):
        outcomes = await run_suite(tools, main, version=version)
    reasons = yaml.safe_load((Path(__file__).parent / "main_endpoint.yml").read_text())[version]
    listed = {scenario for scenarios in reasons.values() for scenario in scenarios}
    assert {name for name, outcome in outcomes.items() if outcome.failed} == listed
