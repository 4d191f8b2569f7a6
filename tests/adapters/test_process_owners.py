"""Whether the process that carried a call out still lives, told from its name."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from toolcrib_adapters.process_owners import ProcessOwners

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
NAMES = """
import sys
from toolcrib_adapters.process_owners import ProcessOwners
print(ProcessOwners().me, flush=True)
sys.stdin.read()
"""


@pytest.mark.promise("ledger-dead-owner")
def test_a_process_is_told_alive_while_it_runs_and_dead_afterwards() -> None:
    owners = ProcessOwners()
    with subprocess.Popen(
        [sys.executable, "-c", NAMES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        name = process.stdout.readline().strip()
        alive = owners.runs(name)
        process.kill()
        process.wait()
    assert (alive, owners.runs(name), owners.runs(owners.me)) == (True, False, True)


def test_a_number_that_is_used_again_is_another_process() -> None:
    owners = ProcessOwners()
    place, pid, started, name = owners.me.split(":")
    assert owners.runs(f"{place}:{pid}:{int(started) - 1}:{name}") is False
    assert ProcessOwners().me != owners.me


@pytest.mark.parametrize("name", ["", "x", "elsewhere:1:2:3", ":1:2:3", "🙂:1:2"])
def test_nothing_is_told_of_owners_elsewhere(name: str) -> None:
    assert ProcessOwners().runs(name) is None


def test_odd_names_tell_nothing() -> None:
    place = ProcessOwners().me.split(":")[0]
    for rest in ("", ":", ":-1:2:3", ":x:2:3", f":{os.getpid()}", f":{os.getpid()}::x"):
        assert ProcessOwners().runs(place + rest) is None


def test_a_system_that_tells_nothing_leaves_it_to_the_lease(tmp_path: Path) -> None:
    owners = ProcessOwners(tmp_path)
    assert owners.runs(owners.me) is None


@pytest.mark.parametrize(
    ("facts", "alive"),
    [
        ("7 (a) S (b) S " + " ".join(map(str, range(1, 19))) + " 555 0", True),
        ("7 (x) Z " + " ".join(map(str, range(1, 19))) + " 555 0", False),
        ("7 (x) S 1 2 3", False),
    ],
)
def test_the_name_of_a_process_may_hold_anything_and_a_zombie_is_dead(
    tmp_path: Path, facts: str, *, alive: bool
) -> None:
    (tmp_path / "sys/kernel/random").mkdir(parents=True)
    (tmp_path / "sys/kernel/random/boot_id").write_text("boot\n", encoding="ascii")
    (tmp_path / "self/ns").mkdir(parents=True)
    (tmp_path / "self/ns/pid").symlink_to("pid:[1]")
    (tmp_path / "7").mkdir()
    (tmp_path / "7/stat").write_text(facts, encoding="utf-8")
    owners = ProcessOwners(tmp_path)
    assert owners.runs("boot/pid[1]:7:555:x") is alive
