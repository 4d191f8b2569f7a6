"""Relative paths of servers, tied to the folder where they were written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from toolcrib_adapters.client_configs import FoundSource, read_client_config
from toolcrib_adapters.relative_paths import with_folder

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_protocol.json_value import JsonObject


def stdio(command: str, *args: str) -> JsonObject:
    return {"transport": "stdio", "command": command, "args": [*args]}


@pytest.mark.promise("attach-environment")
@pytest.mark.parametrize(
    ("spec", "is_tied"),
    [
        (stdio("./server.py"), True),
        (stdio("python", "server.py"), True),
        (stdio("python", "--root=data"), True),
        (stdio("npx", "server-filesystem", "."), True),
        (stdio("python", "-m", "server"), True),
        (stdio("python", "-m", "data.part"), False),
        (stdio("uv", "run", "serve"), True),
        (stdio("uvx", "serve"), False),
        (stdio("server.py"), False),  # searched on the PATH, not here
        (stdio("python", "-m", "server2", "x" * 5000, "a\0b", "", "--port=1"), False),
        (stdio("python", "${HERE}/server.py", "/absolute"), False),
        ({**stdio("python", "server.py"), "cwd": "/own"}, False),
        ({"transport": "http", "url": "data"}, False),
    ],
)
def test_a_server_that_names_files_here_is_tied_to_the_folder(
    tmp_path: Path, spec: JsonObject, is_tied: bool
) -> None:
    (tmp_path / "server.py").touch()
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "data").mkdir()
    tied = with_folder(spec, tmp_path)
    assert tied == ({**spec, "cwd": str(tmp_path)} if is_tied else spec)


@pytest.mark.promise("attach-environment")
@pytest.mark.parametrize(
    ("file", "is_tied"),
    [
        (".cursor/mcp.json", True),
        (".vscode/mcp.json", True),
        (".mcp.json", True),
        ("claude_desktop_config.json", False),
    ],
)
def test_a_server_of_a_projects_file_is_tied_to_the_project(
    tmp_path: Path, file: str, is_tied: bool
) -> None:
    config = tmp_path / file
    config.parent.mkdir(exist_ok=True)
    config.write_text(json.dumps({"mcpServers": {"a": {"command": "x", "args": ["-m", "y"]}}}))
    (found,) = read_client_config(config)
    assert isinstance(found, FoundSource)
    assert found.spec.get("cwd") == (str(tmp_path) if is_tied else None)
    assert found.notes == ()


@pytest.mark.promise("attach-environment")
def test_a_server_that_names_files_beside_a_file_of_a_client_is_tied_and_that_is_said(
    tmp_path: Path,
) -> None:
    (tmp_path / "server.py").touch()
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"a": {"command": "x", "args": ["server.py"]}}}))
    (found,) = read_client_config(config)
    assert isinstance(found, FoundSource)
    assert found.spec["cwd"] == str(tmp_path)
    assert str(tmp_path) in found.notes[0]
