"""Snapshots are catalogued for reading; a file that changes is listed anew."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import anyio
import pytest

from tests.adapters.sources.listening_host import ListeningHost, running
from toolcrib_adapters.sources.snapshots import SnapshotSource
from toolcrib_protocol.errors import NOT_CALLABLE, STORE_BUSY, ErrorKind, ToolError
from toolcrib_protocol.tool import Contract
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.permissions import LOCAL_CALLER
from toolcrib_registry.ports import CallContext, SourceStatus
from toolcrib_registry.records import SourceKind, SourceRecord

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_protocol.json_value import JsonObject

TOOL: JsonObject = {"name": "forecast", "inputSchema": {"type": "object"}}
OTHER: JsonObject = {"name": "alerts", "inputSchema": {"type": "object"}}


def record(**spec: object) -> SourceRecord:
    return SourceRecord("sky", SourceKind.SNAPSHOT, spec, "weather")  # type: ignore[arg-type]


async def test_a_stored_list_is_offered_as_it_was_listed(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps({"result": {"tools": [TOOL, OTHER]}}))
    host = ListeningHost()
    async with running(SnapshotSource(record(path=str(file)), clock=HandClock()), host):
        assert (await host.settled()).status is SourceStatus.READY
    assert host.listings[0].source == "sky"
    assert host.listings[0].entries == (TOOL, OTHER)


async def test_published_entries_are_offered_from_the_settings_themselves() -> None:
    ours = Contract(group="weather", name="forecast", version="1.0.0")
    host = ListeningHost()
    source = SnapshotSource(record(path=None, entries=[ours.as_json(), OTHER]), clock=HandClock())
    async with running(source, host):
        assert (await host.settled()).status is SourceStatus.READY
    contract = host.listings[0].entries[0]
    assert contract == ours
    assert isinstance(contract, Contract)
    assert contract.declares_version
    assert host.listings[0].entries[1] == OTHER


@pytest.mark.promise("snapshot-broken-entry-alone")
async def test_a_broken_entry_is_quarantined_and_the_others_are_offered(tmp_path: Path) -> None:
    file = tmp_path / "tools.yaml"
    file.write_text("- name: a\n  version: '1'\n- 3\n- name: b\n  parameters: {type: object}\n")
    host = ListeningHost()
    async with running(SnapshotSource(record(path=str(file)), clock=HandClock()), host):
        await host.settled()
    (listing,) = host.listings
    assert listing.entries == ({"name": "b", "inputSchema": {"type": "object"}},)
    assert [(q.source, q.position, q.name, q.pointer) for q in listing.quarantined] == [
        ("sky", 0, "a", "/version"),
        ("sky", 1, None, ""),
    ]
    assert listing.quarantined[0].raw == {"name": "a", "version": "1"}
    assert listing.quarantined[1].raw == {"entry": 3}


@pytest.mark.promise("snapshot-refuses-calls")
async def test_a_call_is_refused_with_what_would_make_it_possible(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    for source, origin in (
        (SnapshotSource(record(path=str(file)), clock=HandClock()), f"from {file}"),
        (SnapshotSource(record(entries=[TOOL]), clock=HandClock()), "as it was published"),
    ):
        with pytest.raises(ToolError, match="toolcrib add") as caught:
            await source.call("forecast", {}, CallContext(1, LOCAL_CALLER))
        assert caught.value.code == NOT_CALLABLE
        assert f"'forecast' is catalogued {origin} for reading only" in caught.value.message


@pytest.mark.promise("snapshot-follows-file")
async def test_a_file_that_changes_is_listed_anew_and_one_that_breaks_is_a_state(
    tmp_path: Path,
) -> None:
    file, clock, host = tmp_path / "tools.json", HandClock(), ListeningHost()

    async def look() -> None:
        with anyio.fail_after(10):
            await clock.sleeper()
        clock.advance(1)

    async with running(SnapshotSource(record(path=str(file)), clock=clock), host):
        assert "no such file" in (await host.settled()).reason
        file.write_text(json.dumps([TOOL]))
        await look()
        assert (await host.settled()).status is SourceStatus.READY
        for _ in range(20):
            await look()
        file.write_text("[\n{]")
        await look()
        state = await host.settled()
        assert state.status is SourceStatus.FAILED
        assert f"{file}: not valid JSON at line 2, column 2" in state.reason
        file.write_text(json.dumps([TOOL, OTHER]))
        await look()
        assert (await host.settled()).status is SourceStatus.READY
    assert [listing.entries for listing in host.listings] == [(TOOL,), (TOOL, OTHER)]


async def test_a_catalogue_that_was_busy_is_offered_the_same_again(tmp_path: Path) -> None:
    clock, host = HandClock(), ListeningHost(ToolError(STORE_BUSY, "busy", ErrorKind.RETRYABLE))
    async with running(SnapshotSource(record(entries=[TOOL]), clock=clock), host):
        assert (await host.settled()).reason == "busy"
        await clock.sleeper()
        clock.advance(1)
        assert (await host.settled()).status is SourceStatus.READY
    assert len(host.listings) == 1


@pytest.mark.parametrize("spec", [{}, {"path": "a.json", "entries": []}, {"file": "a.json"}])
async def test_settings_that_cannot_be_used_are_a_state(spec: dict[str, object]) -> None:
    host = ListeningHost()
    async with running(SnapshotSource(record(**spec), clock=HandClock()), host):
        state = await host.settled()
    assert state.status is SourceStatus.FAILED
    assert state.reason.startswith("the settings of the source:")


@pytest.mark.promise("refresh-now")
async def test_a_file_is_read_at_once_when_that_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps([TOOL]))
    host = ListeningHost()
    source = SnapshotSource(record(path=str(file)), clock=HandClock())
    async with running(source, host):
        await host.settled()
        with anyio.fail_after(30):
            await source.look_again()
    assert len(host.listings) == 2


async def test_a_source_that_cannot_list_at_all_answers_at_once() -> None:
    host = ListeningHost()
    source = SnapshotSource(record(neither="nor"), clock=HandClock())
    async with running(source, host):
        assert (await host.settled()).status is SourceStatus.FAILED
        with anyio.fail_after(30):
            await source.look_again()
