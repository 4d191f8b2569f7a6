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
        (stdio("server.py"), False),  # searched on the PATH, not here
        (stdio("python", "-m", "server", "x" * 5000, "a\0b", "", "--port=1"), False),
        (stdio("python", "${HERE}/server.py", "/absolute"), False),
        ({**stdio("python", "server.py"), "cwd": "/own"}, False),
        ({"transport": "http", "url": "data"}, False),
    ],
)
def test_a_server_that_names_files_here_is_tied_to_the_folder(
    tmp_path: Path, spec: JsonObject, is_tied: bool
) -> None:
    (tmp_path / "server.py").touch()
    (tmp_path / "data").mkdir()
    tied = with_folder(spec, tmp_path)
    assert tied == ({**spec, "cwd": str(tmp_path)} if is_tied else spec)


@pytest.mark.promise("attach-environment")
def test_an_imported_server_is_tied_to_the_folder_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "server.py").touch()
    config = tmp_path / ".cursor" / "mcp.json"
    config.parent.mkdir()
    config.write_text(
        json.dumps({"mcpServers": {"a": {"command": "python", "args": ["server.py"]}}})
    )
    (found,) = read_client_config(config)
    assert isinstance(found, FoundSource)
    assert found.spec["cwd"] == str(tmp_path)
    assert str(tmp_path) in found.notes[-1]
