"""Lazy sources over several starts of a crib, and what the command line says of them."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import pytest
from anyio import to_thread

from tests.adapters.cli.running import Shell
from tests.behaviour.test_many_sources import registered, state
from tests.fake_upstreams import line_server
from toolcrib_adapters.main import open_crib
from toolcrib_adapters.processes.identity import this_place
from toolcrib_adapters.processes.roll import FOLDER, Entry, Roll
from toolcrib_adapters.settings import CribSettings
from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError
from toolcrib_registry.call import Call
from toolcrib_registry.ports import SourceStatus

if TYPE_CHECKING:
    from toolcrib_registry.ports import SourceState

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="process groups")


def starts(file: Path) -> int:
    return len(file.read_text().split())


@pytest.mark.promise("life-lazy")
async def test_a_lazy_source_waits_for_its_first_call_until_it_is_one_that_is_used(
    tmp_path: Path,
) -> None:
    settings = CribSettings(home=tmp_path / "home", encoder="none")
    file = tmp_path / "starts"
    await registered(settings, {"up": line_server({"starts": str(file)}, start="lazy")})

    async def first_state() -> SourceState | None:
        return await crib.supervisor.settled("up")

    with anyio.fail_after(120):
        async with open_crib(settings) as crib:
            unknown = await first_state()
        async with open_crib(settings) as crib:
            known = await first_state()
            assert starts(file) == 1
            assert (await crib.calls.call(Call("up/echo", {"a": 1}))).data == {"a": 1}
            assert starts(file) == 2
        async with open_crib(settings) as crib:
            hot = await first_state()
    told = [each.status for each in (unknown, known, hot) if each is not None]
    assert told == [SourceStatus.READY, SourceStatus.IDLE, SourceStatus.READY]
    assert starts(file) == 3


@pytest.mark.promise("life-ceiling")
async def test_more_eager_sources_than_processes_are_all_listed_and_all_answer(
    tmp_path: Path,
) -> None:
    settings = CribSettings(home=tmp_path / "home", encoder="none", most_processes=2)
    names = [f"s{number}" for number in range(5)]
    await registered(settings, {name: line_server() for name in names})
    roll = Roll(settings.home)
    with anyio.fail_after(200):
        async with open_crib(settings) as crib:
            for name in names:
                await crib.supervisor.settled(name)
            for turn in range(10):
                result = await crib.calls.call(Call(f"{names[turn % 5]}/echo", {"n": turn}))
                assert result.data == {"n": turn}, result.error
                assert sum(len(groups) for groups in roll.running().values()) <= 2
            await state(crib, names[0], SourceStatus.IDLE)


@pytest.mark.promise("life-no-orphans")
async def test_functions_stand_on_the_roll_with_their_folder_and_leave_nothing(
    tmp_path: Path,
) -> None:
    shell = Shell(tmp_path / "home")
    file = tmp_path / "tools.py"
    file.write_text(
        "import os\nfrom toolcrib_protocol.function_tool import tool\n\n\n"
        "@tool\ndef place() -> str:\n    '''Where.'''\n    return os.environ['TMPDIR']\n"
    )
    added = await to_thread.run_sync(shell.run, "add", "functions", "--python", str(file))
    assert added.code == 0
    async with open_crib(CribSettings(home=shell.home, encoder="none")) as crib:
        folder = (await crib.calls.call(Call("functions/place", {}))).text
        assert Path(folder).is_dir()
        assert len(Roll(shell.home).running()["functions"]) == 1
        assert folder in "".join(f.read_text() for f in (shell.home / FOLDER).iterdir())
    assert not Path(folder).exists()
    assert not list((shell.home / FOLDER).iterdir())


@pytest.mark.promise("life-no-orphans")
def test_the_doctor_names_what_a_killed_crib_left_and_mends_it(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "home")
    spec = line_server()
    assert isinstance(spec["args"], list)
    words = [str(spec["command"]), *map(str, spec["args"])]
    assert shell.run("add", "up", "--start", "lazy", "--idle", "60", "--", *words).code == 0
    folder = Path(tempfile.mkdtemp(prefix="toolcrib-"))
    facts: dict[str, object] = {"owner": os.getpid(), "owner_started": "long ago"}
    entry = Entry.model_validate(
        {"source": "up", "place": this_place(), "folder": str(folder), **facts}
    )
    (shell.home / FOLDER / "1-a.json").write_text(entry.model_dump_json())
    findings = shell.run("doctor", "--json").document["findings"]
    (told,) = [each for each in findings if each["check"] == "left over"]
    assert told["value"] == str(folder)
    assert told["can_mend"] is True
    mended = shell.run("doctor", "--mend", "--json").document["mended"]
    assert [each["check"] for each in mended] == ["left over"]
    assert not folder.exists()


@pytest.mark.promise("life-lazy")
def test_a_source_is_added_with_the_life_that_it_is_to_have(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "home")
    spec = line_server()
    assert isinstance(spec["args"], list)
    words = [str(spec["command"]), *map(str, spec["args"])]
    options = ["--start", "lazy", "--idle", "60", "--affinity", "per_caller"]
    assert shell.run("add", "up", *options, "--", *words).code == 0
    declared = shell.run("export").out
    for text in ('start = "lazy"', "idle_seconds = 60", 'affinity = "per_caller"'):
        assert text in declared
    (row,) = shell.run("sources", "--json").document["sources"]
    assert (row["state"], row["processes"]) == ("not running", [])
    refused = shell.run("add", "other", "--start", "sometimes", "--", *words)
    assert refused.code != 0
    assert "start" in refused.err
    refused = shell.run("add", "other", "--start", "lazy", "--python", "x.py")
    assert refused.code != 0
    assert "for MCP servers" in refused.err


@pytest.mark.promise("life-ceiling")
@pytest.mark.parametrize("told", ["0", "-1", "many", "1.5", "10001", "\u0663"])
def test_a_number_of_processes_that_is_none_is_refused(
    told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLCRIB_MOST_PROCESSES", told)
    with pytest.raises(ToolError, match="a number from 1 to") as refused:
        CribSettings.read()
    assert refused.value.code == INVALID_SETTINGS
    monkeypatch.setenv("TOOLCRIB_MOST_PROCESSES", "7")
    assert CribSettings.read().most_processes == 7
