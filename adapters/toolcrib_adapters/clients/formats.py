"""Which MCP clients there are, where each keeps its servers, and how it writes one.

A table, and values made from it; reads and writes no file. `config_file.py` changes files,
`toolcrib connect` is the command.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError
from toolcrib_protocol.names import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolcrib_protocol.json_value import JsonObject


@dataclass(frozen=True, slots=True)
class Machine:
    """Where clients keep their files.

    Attributes:
        system: as `sys.platform` says.
        home: the user's folder.
        environment: variables that move some of them.
    """

    system: str
    home: Path
    environment: Mapping[str, str] = field(repr=False)

    @classmethod
    def this(cls) -> Machine:
        """The machine that this runs on."""
        return cls(sys.platform, Path.home(), os.environ)

    def application_data(self, mac_or_windows: str, linux: str) -> Path:
        """The folder of an application, by the habits of the system."""
        if self.system == "darwin":
            return self.home / "Library" / "Application Support" / mac_or_windows
        if self.system == "win32":
            roaming = self.environment.get("APPDATA")
            root = Path(roaming) if roaming else self.home / "AppData" / "Roaming"
            return root / mac_or_windows
        chosen = self.environment.get("XDG_CONFIG_HOME")
        return (Path(chosen) if chosen else self.home / ".config") / linux

    def folder(self, variable: str, usual: str) -> Path:
        """A folder that a variable may name."""
        chosen = self.environment.get(variable)
        return Path(chosen).expanduser() if chosen else self.home / usual


@dataclass(frozen=True, slots=True)
class Client:
    """One MCP client.

    Attributes:
        name: as on the command line.
        title: as people call it.
        section: the keys under which it keeps its servers.
        place: where its file is.
        url_key: what it calls the address of a server; None if its file takes commands only.
        has_type: whether an entry says `type`.
        is_toml: whether the file is TOML.
        after: what to do so that it reads the file again.
    """

    name: str
    title: str
    section: tuple[str, ...]
    place: Callable[[Machine], Path] | None
    url_key: str | None = "url"
    has_type: bool = False
    is_toml: bool = False
    after: str = "restart it"

    def entry(self, command: list[str], url: str | None) -> JsonObject:
        """Its entry for a server.

        Raises:
            ToolError: `invalid_settings`: it takes no addresses in its file.
        """
        if url is None:
            started: JsonObject = {"command": command[0], "args": [*command[1:]]}
            return {"type": "stdio", **started} if self.has_type else started
        if self.url_key is None:
            raise ToolError(
                INVALID_SETTINGS,
                f"{self.title} takes no addresses in its file: add {url} in its settings under "
                "Connectors, or leave out --url so that it starts `toolcrib serve --stdio`",
            )
        reached: JsonObject = {self.url_key: url}
        return {"type": "http", **reached} if self.has_type else reached

    def file(self, machine: Machine, given: Path | None) -> Path | None:
        """Where its entry goes; None if that has to be said."""
        if given is not None:
            return given.expanduser().absolute()
        return None if self.place is None else self.place(machine)


def _claude_desktop(machine: Machine) -> Path:
    return machine.application_data("Claude", "Claude") / "claude_desktop_config.json"


def _claude_code(machine: Machine) -> Path:
    return machine.folder("CLAUDE_CONFIG_DIR", ".") / ".claude.json"


def _cursor(machine: Machine) -> Path:
    return machine.home / ".cursor" / "mcp.json"


def _vscode(machine: Machine) -> Path:
    return machine.application_data("Code", "Code") / "User" / "mcp.json"


def _windsurf(machine: Machine) -> Path:
    return machine.home / ".codeium" / "windsurf" / "mcp_config.json"


def _codex(machine: Machine) -> Path:
    return machine.folder("CODEX_HOME", ".codex") / "config.toml"


def _gemini(machine: Machine) -> Path:
    return machine.home / ".gemini" / "settings.json"


def _zed(machine: Machine) -> Path:
    # Zed keeps to ~/.config on macOS, too.
    if machine.system == "win32":
        return machine.application_data("Zed", "zed") / "settings.json"
    if machine.system == "darwin":
        return machine.home / ".config" / "zed" / "settings.json"
    return machine.application_data("Zed", "zed") / "settings.json"


_MCP_SERVERS: Final = ("mcpServers",)
CLIENTS: Final = {
    client.name: client
    for client in (
        Client("claude-code", "Claude Code", _MCP_SERVERS, _claude_code, has_type=True),
        Client("claude-desktop", "Claude Desktop", _MCP_SERVERS, _claude_desktop, url_key=None),
        Client("cursor", "Cursor", _MCP_SERVERS, _cursor, after="switch the server on in settings"),
        Client(
            "vscode",
            "VS Code",
            ("servers",),
            _vscode,
            has_type=True,
            after="start the server in `MCP: List Servers`",
        ),
        Client(
            "windsurf",
            "Windsurf",
            _MCP_SERVERS,
            _windsurf,
            url_key="serverUrl",
            after="refresh its MCP servers",
        ),
        Client("codex", "Codex", ("mcp_servers",), _codex, is_toml=True),
        Client("gemini-cli", "Gemini CLI", _MCP_SERVERS, _gemini, url_key="httpUrl"),
        Client("zed", "Zed", ("context_servers",), _zed, after="nothing: it reads it at once"),
        Client("custom", "the client", _MCP_SERVERS, None, has_type=True),
    )
}


def client_called(name: str) -> Client:
    """The client of that name.

    Raises:
        ToolError: `invalid_settings`, with the nearest names.
    """
    found = CLIENTS.get(name)
    if found is not None:
        return found
    close = nearest(name, [*CLIENTS])
    hint = f"did you mean {' or '.join(close)}? Else" if close else ""
    text = (
        f"no client called {name!r} is known; {hint} there are {', '.join(CLIENTS)} ('custom' "
        "prints the usual form)"
    )
    raise ToolError(INVALID_SETTINGS, text.replace("  ", " "))
