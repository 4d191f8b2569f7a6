"""The shell blocks of the documentation run as they stand there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.docs_blocks import ROOT, block_to_run

if TYPE_CHECKING:
    from tests.adapters.cli.running import Shell


def run_block(shell: Shell, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-c", "set -eu\n" + script],
        cwd=ROOT,
        env={**shell.environment, "TOOLCRIB_ENCODER": "default", "PATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_walk_through_runs_as_it_stands_there(shell: Shell) -> None:
    done = run_block(shell, block_to_run("command-line"))
    assert done.returncode == 0, done.stderr
    assert "stock-room/check_stock" in done.stdout
    assert "\ntrue\n" in done.stdout
    assert "added      planned/reserve_part@0.3.0" in done.stdout


def test_the_block_about_overlays_runs_as_it_stands_there(shell: Shell) -> None:
    done = run_block(shell, block_to_run("overlays"))
    assert done.returncode == 0, done.stderr
    assert "stock-room/check_stock  version 2.0.0" in done.stdout
    assert "stock-room/remind_me    hidden" in done.stdout
    assert done.stdout.endswith("\ntrue\n")


@pytest.mark.skipif(shutil.which("xargs") is None, reason="needs xargs")
def test_the_block_about_records_of_calls_runs_as_it_stands_there(shell: Shell) -> None:
    done = run_block(shell, block_to_run("call-records"))
    assert done.returncode == 0, done.stderr
    assert "stock-room/check_stock@1.1.0" in done.stdout
    assert "repairs    /count" in done.stderr
    assert '"number": "BB-608"' in done.stdout
    assert "call_records" in done.stdout


def test_the_block_about_groups_runs_as_it_stands_there(shell: Shell) -> None:
    done = run_block(shell, block_to_run("groups"))
    assert done.returncode == 0, done.stderr
    assert "stock-room/find_parts@" in done.stdout


def test_the_block_about_profiles_runs_as_it_stands_there(shell: Shell) -> None:
    done = run_block(shell, block_to_run("profiles"))
    assert done.returncode == 0, done.stderr
    assert '"path": "/mcp/profile/phone"' in done.stdout
    assert '"calls_at_once": 4' in done.stdout


def test_the_block_about_a_crib_as_a_file_runs_as_it_stands_there(shell: Shell) -> None:
    assert (ROOT / "examples" / "crib.toml").is_file()
    done = run_block(shell, block_to_run("declared"))
    assert done.returncode == 0, done.stderr
    assert "+ overlay stock-room/check_stock" in done.stdout
    assert "when_to_use: Before a delivery date is promised." in done.stdout
    assert "warning" not in done.stderr


def test_the_page_about_clients_runs_as_it_stands_there(shell: Shell, tmp_path: Path) -> None:
    done = run_block(shell, block_to_run("connect"), HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "[mcp_servers.toolcrib]" in done.stdout


def test_the_block_about_the_doctor_runs_as_it_stands_there(shell: Shell) -> None:
    assert shell.run("add", "stock", "--python", "examples/tools/stock_room.py").code == 0
    done = run_block(shell, block_to_run("doctor"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"findings": []' in done.stdout


def test_the_block_about_rules_runs_as_it_stands_there(shell: Shell) -> None:
    done = run_block(shell, block_to_run("rules"))
    assert done.returncode == 0, done.stderr
    assert "max_concurrency = 2" in done.stdout


def test_the_block_about_limits_runs_as_it_stands_there(shell: Shell) -> None:
    done = run_block(shell, block_to_run("limits"))
    assert done.returncode == 0, done.stderr
    assert "calls_per_second = 50.0" in done.stdout
    assert '"limits": []' in done.stdout
