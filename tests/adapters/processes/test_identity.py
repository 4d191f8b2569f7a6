"""A process is its number and its start time, wherever the system tells them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from toolcrib_adapters.processes import identity
from toolcrib_adapters.processes.identity import Identity, descendants, group_of, this_place

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="process groups")


@pytest.fixture(params=["proc", "ps"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the facts come from: Linux has /proc, and other systems `ps`."""
    told: str = request.param
    if told == "ps":
        if not Path("/bin/ps").exists():
            pytest.skip("there is no ps")
        monkeypatch.setattr(identity, "_PROC", Path("/no/such/folder"))
    elif not Path("/proc/self").exists():
        pytest.skip("there is no /proc")
    return told


@pytest.fixture
def family() -> Iterator[subprocess.Popen[bytes]]:
    """A shell with a child, in a group of its own."""
    command = ["/bin/sh", "-c", "sleep 1000 & echo ready; wait"]
    with subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        os.killpg(process.pid, 9)


@pytest.mark.promise("life-sweep-is-sure")
def test_a_process_lives_until_it_has_ended(system: str, family: subprocess.Popen[bytes]) -> None:
    known = Identity.of(family.pid)
    assert known is not None, system
    assert known.lives
    assert group_of(family.pid) == family.pid
    assert not Identity(family.pid, "another time").lives
    os.killpg(family.pid, 9)
    os.waitid(os.P_PID, family.pid, os.WEXITED | os.WNOWAIT)
    # Nobody has asked how it ended: it is a zombie, and a zombie has ended.
    assert not known.lives
    assert Identity.of(family.pid) is None


@pytest.mark.promise("life-sweep-is-sure")
def test_the_children_in_a_group_are_found(system: str, family: subprocess.Popen[bytes]) -> None:
    found = descendants(family.pid)
    assert len(found) == 1, system
    assert all(Identity(pid, started).lives for pid, started in found.items())


def test_there_is_no_process_with_an_impossible_number(system: str) -> None:
    assert [Identity.of(pid) for pid in (0, -1, 2**22 + 7)] == [None] * 3, system
    assert group_of(2**22 + 7) is None
    assert set(this_place()) == {"machine", "boot", "namespace"}
