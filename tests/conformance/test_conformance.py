"""The everything-server passes the official suite: the measure for the same server behind toolcrib.

A test for each revision; `python -m tests.conformance` shows the same as a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.conformance.everything import GROUP, behind_toolcrib, everything_server
from tests.conformance.kit import kit
from tests.conformance.suite import Outcome, differences, run_suite, total

if TYPE_CHECKING:
    from pathlib import Path

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
        behind = await run_suite(tools, f"{main}/{GROUP}", version=version)
    assert differences(alone, behind) == []
