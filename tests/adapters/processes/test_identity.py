"""Which process a number means, and whether anything of a group still runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from toolcrib_adapters.processes.identity import group_lives

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_a_group_of_processes_that_have_ended_and_were_not_looked_after_does_not_live() -> None:
    with subprocess.Popen(["/bin/sleep", "1000"], start_new_session=True) as process:
        assert group_lives(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        # Wait for its end, and leave it a zombie.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        os.killpg(process.pid, 0)
        assert not group_lives(process.pid)
    assert not group_lives(process.pid)
