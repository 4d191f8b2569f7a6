"""Where clients keep their servers, and how each writes one."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolcrib_adapters.client_configs import FoundSource, read_entry
from toolcrib_adapters.clients.formats import CLIENTS, Machine, client_called
from toolcrib_protocol.errors import ToolError

HOME = Path("/home/me")


@pytest.mark.promise("connect-clients")
@pytest.mark.parametrize(
    ("system", "environment", "client", "expected"),
    [
        ("linux", {}, "claude-code", "/home/me/.claude.json"),
        ("linux", {"CLAUDE_CONFIG_DIR": "/c"}, "claude-code", "/c/.claude.json"),
        ("linux", {}, "claude-desktop", "/home/me/.config/Claude/claude_desktop_config.json"),
        (
            "darwin",
            {},
            "claude-desktop",
            "/home/me/Library/Application Support/Claude/claude_desktop_config.json",
        ),
        ("win32", {"APPDATA": "/r"}, "claude-desktop", "/r/Claude/claude_desktop_config.json"),
        ("win32", {}, "zed", "/home/me/AppData/Roaming/Zed/settings.json"),
        ("linux", {}, "cursor", "/home/me/.cursor/mcp.json"),
        ("linux", {"XDG_CONFIG_HOME": "/x"}, "vscode", "/x/Code/User/mcp.json"),
        ("darwin", {}, "vscode", "/home/me/Library/Application Support/Code/User/mcp.json"),
        ("linux", {}, "windsurf", "/home/me/.codeium/windsurf/mcp_config.json"),
        ("linux", {}, "codex", "/home/me/.codex/config.toml"),
        ("linux", {"CODEX_HOME": "/k"}, "codex", "/k/config.toml"),
        ("linux", {}, "gemini-cli", "/home/me/.gemini/settings.json"),
        ("linux", {}, "zed", "/home/me/.config/zed/settings.json"),
        ("darwin", {"XDG_CONFIG_HOME": "/x"}, "zed", "/home/me/.config/zed/settings.json"),
    ],
)
def test_each_clients_file_is_where_it_keeps_it(
    system: str, environment: dict[str, str], client: str, expected: str
) -> None:
    machine = Machine(system, HOME, environment)
    assert client_called(client).file(machine, None) == Path(expected)


@pytest.mark.promise("connect-clients")
@pytest.mark.parametrize("client", [*CLIENTS])
def test_what_is_written_for_a_client_is_what_import_reads(client: str) -> None:
    chosen = CLIENTS[client]
    started = read_entry("x", chosen.entry(["other", "serve"], None), Path("/f"))
    assert isinstance(started, FoundSource)
    assert (started.spec["command"], started.spec["args"]) == ("other", ["serve"])
    if chosen.url_key is None:
        with pytest.raises(ToolError, match="Connectors"):
            chosen.entry(["other"], "http://h/mcp")
        return
    reached = read_entry("x", chosen.entry(["other"], "http://h/mcp"), Path("/f"))
    assert isinstance(reached, FoundSource)
    assert (reached.spec["transport"], reached.spec["url"]) == ("http", "http://h/mcp")


def test_an_unknown_client_is_told_the_nearest() -> None:
    with pytest.raises(ToolError, match="did you mean cursor"):
        client_called("curser")
    assert CLIENTS["custom"].file(Machine("linux", HOME, {}), None) is None
