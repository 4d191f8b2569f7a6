"""A shell with an empty crib, and small sources for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.adapters.cli.clients import TOOLS
from tests.adapters.cli.running import Shell

if TYPE_CHECKING:
    from pathlib import Path

MAIL = {
    "tools": [
        {
            "name": "send_letter",
            "description": "Send a letter to somebody.\nBy post.",
            "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}}},
            "annotations": {"readOnlyHint": False, "destructiveHint": True},
        },
        {
            "name": "list_letters",
            "description": "列出所有信件 📬",
            "inputSchema": {"type": "object"},
        },
        {"name": "broken", "inputSchema": 7},
    ]
}
WAITING = '''
import time
from toolcrib_protocol.function_tool import tool

@tool(read_only=True)
def wait_for(path: str, seconds: float = 60) -> str:
    """Wait until a file exists.

    Args:
        path: the file.
        seconds: how long at most.
    """
    from pathlib import Path
    end = time.monotonic() + seconds
    Path(path + ".waiting").touch()
    while not Path(path).exists() and time.monotonic() < end:
        time.sleep(0.02)
    return "it is there" if Path(path).exists() else "it never came"

@tool(read_only=True)
def fail() -> None:
    """Fail."""
    raise ValueError("as it was told")
'''


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "home")


@pytest.fixture
def mail(tmp_path: Path) -> str:
    """The path of a stored list with two good entries and a bad one."""
    path = tmp_path / "mail.json"
    path.write_text(json.dumps(MAIL), encoding="utf-8")
    return str(path)


@pytest.fixture
def waiting(tmp_path: Path) -> str:
    """The path of a Python file with a function that waits for a file."""
    path = tmp_path / "waiting.py"
    path.write_text(WAITING, encoding="utf-8")
    return str(path)


@pytest.fixture
def tools(shell: Shell, tmp_path: Path) -> Path:
    path = tmp_path / "t.py"
    path.write_text(TOOLS)
    added = shell.spawn("add", "t", "--python", str(path))
    assert added.code == 0, added.err
    return path
