"""The configuration files of MCP clients, as people have them: every shape, with their oddities."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from toolcrib_adapters.client_configs import FoundSource, SkippedEntry, read_client_config
from toolcrib_protocol.errors import ToolError

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_protocol.json_value import Json, JsonObject

STDIO: JsonObject = {"command": "uvx", "args": ["mcp-server-time"]}
TIME = {"transport": "stdio", "command": "uvx", "args": ["mcp-server-time"], "env": {}}


def found(path: Path, document: Json | str) -> list[FoundSource | SkippedEntry]:
    text = document if isinstance(document, str) else json.dumps(document)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return read_client_config(path)


def one(path: Path, entry: Json) -> FoundSource:
    (source,) = found(path, {"mcpServers": {"a": entry}})
    assert isinstance(source, FoundSource)
    return source


def skipped(path: Path, entry: Json) -> str:
    (source,) = found(path, {"mcpServers": {"a": entry}})
    assert isinstance(source, SkippedEntry)
    return source.reason


@pytest.mark.promise("cli-import-shapes")
@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"mcpServers": {"time": STDIO}}, id="Claude Desktop, Cursor, Windsurf"),
        pytest.param(
            {"projects": {"/home/me/p": {"mcpServers": {"time": STDIO}}}}, id="~/.claude.json"
        ),
        pytest.param({"servers": {"time": {"type": "stdio", **STDIO}}, "inputs": []}, id="VS Code"),
        pytest.param(
            {"mcp": {"servers": {"time": STDIO}}, "editor.tabSize": 2}, id="settings.json"
        ),
        pytest.param(
            {
                "context_servers": {
                    "time": {"command": {"path": "uvx", "args": ["mcp-server-time"]}}
                }
            },
            id="Zed",
        ),
    ],
)
def test_servers_are_found_in_the_files_of_all_clients(tmp_path: Path, document: Json) -> None:
    (source,) = found(tmp_path / "config.json", document)
    assert isinstance(source, FoundSource)
    assert (source.name, source.spec) == ("time", TIME)


@pytest.mark.promise("cli-import-comments")
def test_comments_trailing_commas_and_a_byte_order_mark_are_read_over(tmp_path: Path) -> None:
    text = """\ufeff{
      // the servers
      "servers": {
        /* of
           the team */
        "docs": {"url": "https://example.org/mcp // not a comment,}", },
      },
    }"""
    (source,) = found(tmp_path / "mcp.json", text)
    assert isinstance(source, FoundSource)
    assert source.spec["url"] == "https://example.org/mcp // not a comment,}"


@pytest.mark.parametrize(
    ("entry", "transport"),
    [
        ({"url": "https://example.org/mcp"}, "http"),
        ({"serverUrl": "https://example.org/mcp"}, "http"),
        ({"httpUrl": "https://example.org/mcp"}, "http"),
        ({"type": "streamable-http", "url": "https://example.org/sse"}, "http"),
        ({"type": "sse", "url": "https://example.org/mcp"}, "sse"),
        ({"url": "https://example.org/sse/"}, "sse"),
    ],
)
def test_a_url_is_http_unless_it_says_sse(tmp_path: Path, entry: Json, transport: str) -> None:
    assert one(tmp_path / "mcp.json", entry).spec["transport"] == transport


def test_headers_environment_and_folder_come_along_as_text(tmp_path: Path) -> None:
    entry: Json = {"command": "srv", "args": [1], "env": {"PORT": 80, "ON": True}, "cwd": "/srv"}
    spec = one(tmp_path / "mcp.json", entry).spec
    assert spec["args"] == ["1"]
    assert spec["env"] == {"PORT": "80", "ON": "true"}
    assert spec["cwd"] == "/srv"
    url: Json = {"url": "https://example.org", "headers": {"Authorization": "Bearer ${env:KEY}"}}
    assert one(tmp_path / "mcp.json", url).spec["headers"] == {"Authorization": "Bearer ${KEY}"}


def test_what_a_client_would_ask_for_becomes_a_variable_with_a_note(tmp_path: Path) -> None:
    entry: Json = {"command": "srv", "env": {"KEY": "${input:api-key}"}}
    source = one(tmp_path / "mcp.json", entry)
    assert source.spec["env"] == {"KEY": "${API_KEY}"}
    assert "set the environment variable API_KEY" in source.notes[0]


def test_the_workspace_is_the_folder_that_the_file_is_for(tmp_path: Path) -> None:
    entry: Json = {"command": "srv", "args": ["${workspaceFolder}/data"]}
    source = one(tmp_path / ".vscode" / "mcp.json", entry)
    assert source.spec["args"] == [f"{tmp_path}/data"]
    assert one(tmp_path / "mcp.json", entry).spec["args"] == [f"{tmp_path}/data"]


def test_a_name_that_cannot_be_used_is_changed_and_said(tmp_path: Path) -> None:
    (source,) = found(tmp_path / "mcp.json", {"mcpServers": {"My Server!": STDIO}})
    assert isinstance(source, FoundSource)
    assert source.name == "My-Server"
    assert "'My Server!'" in source.notes[0]


@pytest.mark.promise("cli-import-alone")
@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (7, "not an object"),
        ({**STDIO, "disabled": True}, "disabled"),
        ({**STDIO, "enabled": False}, "disabled"),
        ({}, "neither a 'command' nor a 'url'"),
        ({"command": "srv", "args": "x"}, "'args'"),
        ({"command": "srv", "env": []}, "'env'"),
        ({"command": "/usr/bin/toolcrib", "args": ["serve"]}, "toolcrib itself"),
        ({"command": "uvx", "args": ["toolcrib", "serve"]}, "toolcrib itself"),
    ],
)
def test_an_entry_that_is_no_source_is_skipped_with_its_reason(
    tmp_path: Path, entry: Json, reason: str
) -> None:
    assert reason in skipped(tmp_path / "mcp.json", entry)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "line 1"),
        ("[]", "names no MCP servers"),
        ('{"mcpServers": {}}', "names no MCP servers"),
        ('{"mcpServers": 3, "mcp": 4, "projects": 5}', "names no MCP servers"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_as_a_whole(
    tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(ToolError, match=words):
        found(tmp_path / "mcp.json", text)


def test_a_file_that_cannot_be_read_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"missing\.json cannot be read"):
        read_client_config(tmp_path / "missing.json")
    with pytest.raises(ToolError, match="cannot be read"):
        read_client_config(tmp_path)
    (tmp_path / "latin.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(ToolError, match="cannot be read"):
        read_client_config(tmp_path / "latin.json")
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(20_000_001)
    with pytest.raises(ToolError, match="larger than"):
        read_client_config(tmp_path / "huge.json")
