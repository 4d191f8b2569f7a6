"""A client's file, changed safely."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolcrib_adapters.clients import config_file
from toolcrib_adapters.clients.config_file import ConfigFile
from toolcrib_protocol.errors import ToolError

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_protocol.json_value import JsonObject

SECTION = ("mcpServers",)
ENTRY: JsonObject = {"command": "toolcrib", "args": ["serve"]}


def read(path: Path) -> ConfigFile:
    return ConfigFile.read(path, SECTION, is_toml=False)


@pytest.mark.promise("connect-malformed")
def test_a_file_that_another_program_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text("{}")
    changed = read(path).having("toolcrib", ENTRY)
    path.write_text('{"mine": 1}')
    with pytest.raises(ToolError, match="changed by another program"):
        changed.write(tmp_path / "backup")
    assert path.read_text() == '{"mine": 1}'
    path.unlink()
    with pytest.raises(ToolError, match="changed by another program"):
        changed.write(None)
    assert not path.exists()


@pytest.mark.promise("connect-malformed")
def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(ToolError, match="cannot be"):
        read(blocked / "mcp.json").having("toolcrib", ENTRY).write(None)
    folder = tmp_path / "mcp.json"
    folder.mkdir()
    with pytest.raises(ToolError, match="cannot be read"):
        read(folder)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "mcp.json"]


def test_a_file_is_read_within_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": null}')
    assert read(path).servers() == {}
    monkeypatch.setattr(config_file, "_MOST_BYTES", 5)
    with pytest.raises(ToolError, match="larger than 5 bytes"):
        read(path)


def test_nested_sections_keep_what_is_beside_them(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"mcp": {"inputs": [1]}, "other": true}')
    file = ConfigFile.read(path, ("mcp", "servers"), is_toml=False)
    there = file.having("toolcrib", ENTRY)
    assert there.document() == {
        "mcp": {"inputs": [1], "servers": {"toolcrib": ENTRY}},
        "other": True,
    }
    assert there.lacking("toolcrib").servers() == {}
