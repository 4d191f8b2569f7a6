"""What other people's clients can do through toolcrib is what `docs/clients.md` says."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from tests.interop.kit import kit
from tests.interop.running import CLIENTS, Client, outcomes
from tests.interop.stall import stall_behind_toolcrib
from tests.interop.table import row, table

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"


@pytest.mark.promise("clients-table")
@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.title)
async def test_a_client_can_do_what_the_documentation_says(client: Client, tmp_path: Path) -> None:
    tools, documented = kit(), PAGE.read_text().splitlines()
    told = []
    async with stall_behind_toolcrib(tmp_path / "home") as url:
        # Programs of others now and then end without a word; a second run may speak for them.
        for attempt in ("first", "second"):
            folder = tmp_path / attempt
            folder.mkdir()
            told.append(await anyio.to_thread.run_sync(outcomes, tools, client, url, folder))
            if row(client.title, told[-1]) in documented:
                return
    pytest.fail(str(told))


def test_the_documentation_names_every_client_that_is_tried() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    assert [line.split(" | ")[0] for line in rows[2:]] == [f"| {c.title}" for c in CLIENTS]
    assert rows[:2] == table([]).splitlines()
