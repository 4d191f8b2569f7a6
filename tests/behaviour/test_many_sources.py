"""A crib whose sources are partly dead, silent or missing: real processes, one home."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from toolcrib_adapters.main import open_crib, open_store
from toolcrib_adapters.settings import CribSettings
from toolcrib_registry.call import Call
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.ports import SourceStatus
from toolcrib_registry.publishing import register
from toolcrib_registry.records import SourceKind, SourceRecord

if TYPE_CHECKING:
    from toolcrib_adapters.main import Crib
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.ports import SourceState

SERVER = str(Path(__file__).parents[1] / "fake_upstreams" / "line_server.py")
GOOD = [f"good-{number}" for number in range(10)]
MOST_SECONDS = 90


def command(*words: str) -> JsonObject:
    return {
        "transport": "stdio",
        "command": words[0],
        "args": [*words[1:]],
        "connect_timeout_seconds": 3.0,
    }


async def registered(home: CribSettings, specs: dict[str, JsonObject]) -> None:
    async with open_store(home) as store:
        catalogue = await Catalogue.open(store)
        for name, spec in specs.items():
            await register(catalogue, SourceRecord(name, SourceKind.MCP, spec, name))


async def state(crib: Crib, source: str, wanted: SourceStatus) -> SourceState:
    """The state of the source, once it is the wanted one."""
    while True:
        now = (await crib.states.reported()).get(source)
        if now is not None and now.status is wanted:
            return now
        await anyio.sleep(0.05)


@pytest.mark.promise("field-o32-many-sources")
async def test_dead_silent_and_missing_sources_hold_up_nobody_and_are_named_with_their_reason(
    tmp_path: Path,
) -> None:
    home = CribSettings(home=tmp_path / "home", encoder="none")
    later = tmp_path / "later"
    await registered(home, {name: command(sys.executable, SERVER) for name in GOOD})
    async with open_crib(home) as crib:
        with anyio.fail_after(MOST_SECONDS):
            for name in GOOD:
                await state(crib, name, SourceStatus.READY)
    await registered(
        home,
        {
            "silent": command(sys.executable, "-c", "import time; time.sleep(3600)"),
            "dead": command(sys.executable, "-c", "raise SystemExit('the licence has expired')"),
            "missing": command(str(later)),
        },
    )

    async with open_crib(home) as crib:
        # What was there is there before anything has connected.
        listed = {record.source for record in crib.catalogue.snapshot.live_tools()}
        assert listed == {*GOOD}
        with anyio.fail_after(MOST_SECONDS):
            for name in GOOD:
                await state(crib, name, SourceStatus.READY)
            dead = await state(crib, "dead", SourceStatus.FAILED)
            silent = await state(crib, "silent", SourceStatus.FAILED)
            missing = await state(crib, "missing", SourceStatus.FAILED)
            assert "the licence has expired" in dead.reason
            assert "3 s" in silent.reason
            assert str(later) in missing.reason
            assert all(told.retry_at for told in (dead, silent, missing))
            await anyio.Path(later).write_text(f'#!/bin/sh\nexec "{sys.executable}" "{SERVER}"\n')
            await anyio.Path(later).chmod(0o700)
            await state(crib, "missing", SourceStatus.READY)
            answer = await crib.calls.call(Call("good-3/echo", {"text": "there"}))
    assert answer.error is None, answer.error
