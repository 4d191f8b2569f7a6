"""The sweep ends what killed cribs left, and nothing that only looks like it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from toolcrib_adapters.processes.household import Household
from toolcrib_adapters.processes.identity import Identity, this_place
from toolcrib_adapters.processes.roll import FOLDER, Entry, Roll
from toolcrib_adapters.processes.sweep import left_over

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="process groups")


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that leads a group and ends when it is told to."""
    process = subprocess.Popen(["/bin/sleep", "1000"], start_new_session=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def entry_of(process: subprocess.Popen[bytes], **facts: object) -> Entry:
    """What an owner that is dead wrote down about a process."""
    me = Identity.of(process.pid)
    assert me is not None
    known = {
        "source": "up",
        "place": this_place(),
        "owner": os.getpid(),
        "owner_started": "long ago",
        "group": process.pid,
        "started": me.started,
    }
    return Entry.model_validate({**known, **facts})


def write(home: Path, entry: Entry | str) -> Path:
    file = home / FOLDER / "1-a.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(entry if isinstance(entry, str) else entry.model_dump_json())
    return file


@pytest.mark.promise("life-sweep-is-sure")
def test_a_group_whose_owner_is_dead_is_ended(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    file = write(tmp_path, entry_of(sleeper))
    assert [item.is_there for item in left_over(Roll(tmp_path))] == [True]
    swept = Household(tmp_path).sweep()
    assert [item.text for item in swept] == [f"process group {sleeper.pid} of source 'up'"]
    assert sleeper.wait(10) < 0
    assert not file.exists()


@pytest.mark.promise("life-sweep-is-sure")
@pytest.mark.parametrize(
    "facts",
    [
        {"started": "another time"},
        {"owner_started": None},
        {"place": {"machine": "another", "boot": "b", "namespace": "n"}},
        {"group": 2**22 + 5, "members": {1: "1"}},
    ],
    ids=["number used again", "owner lives", "another machine", "no such group"],
)
def test_a_group_that_may_be_another_is_left_alone(
    tmp_path: Path, sleeper: subprocess.Popen[bytes], facts: dict[str, object]
) -> None:
    if facts.get("owner_started", "") is None:
        me = Identity.of(os.getpid())
        assert me is not None
        facts = {"owner_started": me.started}
    write(tmp_path, entry_of(sleeper, **facts))
    assert Household(tmp_path).sweep() == []
    assert sleeper.poll() is None


@pytest.mark.promise("life-sweep-is-sure")
@pytest.mark.parametrize("text", ["", "{", "[]", '{"group": "x"}', '{"group": -1}', "\x00"])
def test_a_roll_that_cannot_be_read_ends_nothing(tmp_path: Path, text: str) -> None:
    write(tmp_path, text)
    assert Household(tmp_path).sweep() == []


@pytest.mark.promise("life-sweep-is-sure")
def test_entries_of_before_a_restart_of_the_machine_are_forgotten(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    if not this_place()["boot"]:
        pytest.skip("the system does not tell when it was started")
    file = write(tmp_path, entry_of(sleeper, place={**this_place(), "boot": "an earlier one"}))
    assert Household(tmp_path).sweep() == []
    assert not file.exists()
    assert sleeper.poll() is None


@pytest.mark.promise("life-no-orphans")
def test_temporary_folders_that_were_left_are_removed(tmp_path: Path) -> None:
    folder = Path(tempfile.mkdtemp(prefix="toolcrib-"))
    (folder / "kept.txt").write_text("something")
    facts: dict[str, object] = {"owner": os.getpid(), "owner_started": "long ago"}
    entry = Entry.model_validate(
        {"source": "functions", "place": this_place(), "folder": str(folder), **facts}
    )
    write(tmp_path, entry)
    swept = Household(tmp_path).sweep()
    assert [item.text for item in swept] == [f"the folder {folder} of source 'functions'"]
    assert not folder.exists()


@pytest.mark.promise("life-sweep-is-sure")
def test_a_folder_that_is_not_one_of_ours_is_left_alone(tmp_path: Path) -> None:
    precious = tmp_path / "toolcrib-precious"
    precious.mkdir()
    link = Path(tempfile.mkdtemp(prefix="other-"))
    for folder in (precious, link, Path("/")):
        facts: dict[str, object] = {"owner": os.getpid(), "owner_started": "long ago"}
        write(
            tmp_path,
            Entry.model_validate(
                {"source": "x", "place": this_place(), "folder": str(folder), **facts}
            ),
        )
        assert Household(tmp_path).sweep() == []
        assert folder.exists()
    link.rmdir()


def test_a_folder_is_on_the_roll_only_while_it_is_there(tmp_path: Path) -> None:
    with Household(tmp_path).folder("functions") as folder:
        assert len(list((tmp_path / FOLDER).iterdir())) == 1
        assert folder.is_dir()
    assert not folder.exists()
    assert not list((tmp_path / FOLDER).iterdir())


def test_a_home_that_cannot_be_written_stops_nothing(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    (tmp_path / FOLDER).write_text("a file where the folder should be")
    household = Household(tmp_path)
    with household.folder("functions") as folder, household.kept("up", sleeper.pid):
        household.note_members(sleeper.pid)
        assert folder.is_dir()
    assert not household.sweep()
    household.close()


def test_a_guardian_that_was_ended_is_replaced_and_knows_all_groups(tmp_path: Path) -> None:
    household = Household(tmp_path)
    first = subprocess.Popen(["/bin/sleep", "1000"], start_new_session=True)
    second = subprocess.Popen(["/bin/sleep", "1000"], start_new_session=True)
    with household.kept("a", first.pid):
        pid = household._guardian.pid
        assert pid is not None
        os.kill(pid, 9)
        os.waitpid(pid, os.WNOHANG)
        while Identity.of(pid) is not None:
            pass
        with household.kept("b", second.pid):
            assert household._guardian.pid != pid
            household.close()  # as if the crib had been killed
            assert first.wait(10) < 0
            assert second.wait(10) < 0
