"""The shell blocks of the documentation run as they stand there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.docs_blocks import ROOT, block_to_run

if TYPE_CHECKING:
    from tests.adapters.cli.running import Shell


def test_the_walk_through_runs_as_it_stands_there(shell: Shell) -> None:
    script = "set -eu\n" + block_to_run("command-line")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=ROOT,
        env={**shell.environment, "TOOLCRIB_ENCODER": "default", "PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "stock-room/check_stock" in done.stdout
    assert "\ntrue\n" in done.stdout
    assert "added      planned/reserve_part@0.3.0" in done.stdout
