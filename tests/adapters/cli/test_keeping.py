"""`toolcrib vacuum`, and `keys` with what they sealed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.docs_blocks import ROOT
from toolcrib_adapters.retention import Retention
from toolcrib_adapters.stores.sql.database import open_database
from toolcrib_adapters.stores.sql.vacuum import Vacuum
from toolcrib_registry.hand_clock import HandClock

if TYPE_CHECKING:
    from tests.adapters.cli.running import Shell

STOCK = str(ROOT / "examples" / "tools" / "stock_room.py")
FOUR = '{"number": "BB-608", "count": 4}'


@pytest.mark.promise("retention-vacuum")
def test_vacuum_says_what_goes_takes_it_out_and_names_every_table(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.run("add", "stock-room", "--python", STOCK)
    shell.run("call", "stock-room/check_stock", FOUR)
    stored = shell.run("doctor", "--json").document["facts"]["stored"]
    assert (stored["rows"]["call_records"], stored["bytes"] > 0) == (1, True)
    assert "call_records 1" in shell.run("doctor").out
    monkeypatch.setenv("TOOLCRIB_KEEP_CALLS", "0")
    looked = shell.run("vacuum", "--dry-run", "--json").document
    assert looked["tables"]["call_records"] == {
        "rows": 1,
        "taken_out": 1,
        "kept": "30 days, and the newest 0",
    }
    assert "would go" in shell.run("vacuum", "--dry-run").out
    assert "taken out" in shell.run("vacuum").out
    assert shell.run("calls", "--json").document == {"calls": []}
    swept = shell.run("vacuum", "--json").document
    assert (swept["tables"]["call_records"]["rows"], swept["dry_run"]) == (0, False)
    monkeypatch.setenv("TOOLCRIB_KEEP_CALLS", "all")
    refused = shell.run("vacuum")
    assert (refused.code, "TOOLCRIB_KEEP_CALLS" in refused.err) == (1, True)


@pytest.mark.promise("retention-one-at-a-time")
def test_vacuum_says_when_another_process_sweeps(shell: Shell) -> None:
    shell.run("add", "stock-room", "--python", STOCK)
    database = open_database(None, shell.home)
    clock = HandClock()
    clock.advance(10_000_000_000)
    assert Vacuum(database, clock, Retention(), owner="another")._lease(60.0)
    database.engine.dispose()
    refused = shell.run("vacuum")
    assert (refused.code, "another process sweeps" in refused.err) == (3, True)


@pytest.mark.promise("keys-count-what-is-sealed")
def test_a_rotation_that_would_lose_something_is_refused_without_force(shell: Shell) -> None:
    assert shell.run("keys", "list").code == 0
    shell.run("add", "stock-room", "--python", STOCK)
    shell.run("capture", "start")
    shell.run("call", "stock-room/check_stock", FOUR)
    (call,) = shell.run("calls", "--json").document["calls"]
    (key,) = shell.run("keys", "list", "--json").document["keys"]
    assert key["sealed"] == {"captures": 1}
    for _ in range(2):
        assert shell.run("keys", "rotate").code == 0
    assert shell.run("calls", "show", call["id"], "--raw").code == 0
    refused = shell.run("keys", "rotate")
    assert (refused.code, "1 rows of captures" in refused.err) == (4, True)
    assert shell.run("keys", "rotate", "--force").code == 0
    unreadable = shell.run("calls", "show", call["id"], "--raw")
    assert (unreadable.code, "not in the key ring any more" in unreadable.err) == (4, True)
    assert shell.run("calls", "show", call["id"]).code == 0
