"""The configuration files of MCP clients, read as sources.

Claude Desktop, Claude Code, Cursor, VS Code, Windsurf, Gemini CLI and Zed keep their servers in
JSON of slightly different shapes, often with comments, Codex in TOML. Each entry is judged alone:
it becomes the settings of a source, or is skipped with a reason. Reads one file a call and writes
none; `toolcrib import` registers what comes out, `toolcrib connect` writes (`clients/`).
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolcrib_adapters.relative_paths import in_folder, with_folder
from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError
from toolcrib_protocol.json_value import parse_json
from toolcrib_protocol.names import GROUP_NAME, slug

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from toolcrib_protocol.json_value import Json, JsonObject

_MOST_BYTES: Final = 20_000_000
# Strings are matched first, so that `//` inside one is not a comment and a comma in one is not
# trailing.
_PROJECT_FOLDERS: Final = frozenset(
    {".vscode", ".cursor", ".codex", ".gemini", ".zed", ".windsurf"}
)
_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'"(?:\\.|[^"\\])*"|,(?=\s*[}\]])', re.DOTALL)
_ENV = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_INPUT = re.compile(r"\$\{input:([^}]+)\}")
_HTTP_TYPES: Final[Mapping[str, str]] = {
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "streamable_http": "http",
    "sse": "sse",
}


@dataclass(frozen=True, slots=True)
class FoundSource:
    """A server that a client's configuration names.

    Attributes:
        name: a valid source name.
        spec: the settings of a source of kind `mcp`.
        notes: what was changed on the way, in sentences.
    """

    name: str
    spec: JsonObject
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SkippedEntry:
    """An entry that is no source, and why."""

    name: str
    reason: str


def read_client_config(path: Path) -> list[FoundSource | SkippedEntry]:
    """The servers that the file at `path` names, in its order.

    Raises:
        ToolError: `invalid_settings` with file, line and column if it cannot be read at all.
    """
    document = _parsed(path)
    found = [read_entry(name, entry, path) for name, entry in _server_entries(document)]
    if not found:
        raise ToolError(
            INVALID_SETTINGS,
            f"{path} names no MCP servers; expected an object under 'mcpServers' (Claude, Cursor, "
            "Windsurf, Gemini CLI), 'servers' (VS Code), 'context_servers' (Zed) or 'mcp_servers' "
            "(Codex)",
        )
    return found


def _parsed(path: Path) -> Json:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ToolError(INVALID_SETTINGS, f"{path} is larger than {_MOST_BYTES:,} bytes")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ToolError(INVALID_SETTINGS, f"{path} cannot be read: {error}") from error
    is_toml = path.suffix == ".toml"  # Codex
    try:
        return tomllib.loads(text) if is_toml else parse_json(without_comments(text))
    except tomllib.TOMLDecodeError as error:
        raise ToolError(INVALID_SETTINGS, f"{path}: {error}") from error
    except ToolError as error:
        raise ToolError(INVALID_SETTINGS, f"{path}: {error.message}", error.kind) from error


def without_comments(text: str) -> str:
    """`text` without comments and trailing commas; lines and columns stay where they are."""

    def blanked(match: re.Match[str]) -> str:
        piece = match.group()
        return piece if piece.startswith('"') else re.sub(r"[^\n]", " ", piece)

    def uncommaed(match: re.Match[str]) -> str:
        return match.group() if match.group().startswith('"') else " "

    return _TRAILING_COMMA.sub(uncommaed, _COMMENT.sub(blanked, text))


def _server_entries(document: Json) -> Iterator[tuple[str, Json]]:
    """Every named server: at the root, under VS Code's `mcp`, and in Claude Code's projects."""
    if not isinstance(document, dict):
        return
    for key in ("mcpServers", "servers", "context_servers", "mcp_servers"):
        servers = document.get(key)
        if isinstance(servers, dict):
            yield from servers.items()
    yield from _server_entries(document.get("mcp"))
    projects = document.get("projects")
    for project in projects.values() if isinstance(projects, dict) else ():
        yield from _server_entries(project)


def read_entry(name: str, entry: Json, path: Path) -> FoundSource | SkippedEntry:
    """What one entry of the file at `path` means."""
    if not isinstance(entry, dict):
        return SkippedEntry(name, f"the entry is not an object but {type(entry).__name__}")
    if entry.get("disabled") is True or entry.get("enabled") is False:
        return SkippedEntry(name, "it is disabled in the file")
    try:
        spec = _spec(entry)
    except ToolError as error:
        return SkippedEntry(name, error.message)
    if is_toolcrib(spec):
        return SkippedEntry(name, "it is toolcrib itself")
    notes: list[str] = []
    clean = _translated(spec, path, notes)
    if not isinstance(clean, dict):  # a mapping stays a mapping; this tells the type checker so
        raise TypeError(clean)
    clean = _placed(clean, path)
    if clean.get("cwd") and not spec.get("cwd") and not _is_of_a_project(path):
        notes.append(f"it means something in {clean['cwd']}, and runs there")
    usable = name if GROUP_NAME.fullmatch(name) else slug(name)
    if usable != name:
        notes.insert(0, f"the name {name!r} cannot be used and became {usable!r}")
    return FoundSource(usable, clean, tuple(dict.fromkeys(notes)))


def _spec(entry: JsonObject) -> JsonObject:
    kind = str(entry.get("type") or entry.get("transport") or "")
    url = entry.get("url") or entry.get("serverUrl") or entry.get("httpUrl")
    if isinstance(url, str):
        headers = entry.get("headers") or entry.get("http_headers")
        is_sse = _HTTP_TYPES.get(kind) == "sse" or (not kind and url.rstrip("/").endswith("/sse"))
        return {
            "transport": "sse" if is_sse else "http",
            "url": url,
            "headers": {**_strings(headers, "headers"), **_bearer(entry)},
        }
    return _stdio_spec(entry)


def _bearer(entry: JsonObject) -> JsonObject:
    """Codex names the variable that holds the token."""
    variable = entry.get("bearer_token_env_var")
    return {"Authorization": f"Bearer ${{{variable}}}"} if isinstance(variable, str) else {}


def _stdio_spec(entry: JsonObject) -> JsonObject:
    command, args = entry.get("command"), entry.get("args", [])
    if isinstance(command, dict):  # Zed: {"command": {"path": ..., "args": ..., "env": ...}}
        return _stdio_spec({**command, "command": command.get("path")})
    if not isinstance(command, str) or not command:
        raise ToolError(INVALID_SETTINGS, "it has neither a 'command' nor a 'url'")
    if not isinstance(args, list) or not all(isinstance(arg, str | int | float) for arg in args):
        raise ToolError(INVALID_SETTINGS, f"'args' must be a list of strings, not {args!r}")
    spec: JsonObject = {
        "transport": "stdio",
        "command": command,
        "args": [str(arg) for arg in args],
        "env": _strings(entry.get("env"), "env"),
    }
    cwd = entry.get("cwd")
    return {**spec, "cwd": cwd} if isinstance(cwd, str) else spec


def _strings(value: Json, key: str) -> JsonObject:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(
        isinstance(v, str | int | float) for v in value.values()
    ):
        raise ToolError(INVALID_SETTINGS, f"{key!r} must be an object of strings")
    return {name: _written(content) for name, content in value.items()}


def _written(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_toolcrib(spec: JsonObject) -> bool:
    """Whether a server that is started as a process is toolcrib itself."""
    command = Path(str(spec.get("command", ""))).stem
    args = spec.get("args")
    words = [str(arg) for arg in args] if isinstance(args, list) else []
    return (
        command == "toolcrib" or words[:1] == ["toolcrib"] or "toolcrib_adapters" in " ".join(words)
    )


def _translated(value: Json, path: Path, notes: list[str]) -> Json:
    """`value` with the clients' own variables in our one notation."""
    if isinstance(value, dict):
        return {key: _translated(item, path, notes) for key, item in value.items()}
    if isinstance(value, list):
        return [_translated(item, path, notes) for item in value]
    return _translated_text(value, path, notes) if isinstance(value, str) else value


def _translated_text(text: str, path: Path, notes: list[str]) -> str:
    def variable(match: re.Match[str]) -> str:
        name = re.sub(r"\W", "_", match.group(1), flags=re.ASCII).upper()
        notes.append(
            f"the client asks for {match.group(1)!r}; set the environment variable {name} instead"
        )
        return f"${{{name}}}"

    text = text.replace("${workspaceFolder}", str(_workspace(path))).replace(
        "${userHome}", str(Path.home())
    )
    return _INPUT.sub(variable, _ENV.sub(r"${\1}", text))


def _placed(spec: JsonObject, path: Path) -> JsonObject:
    """The settings with the folder in which the client would start the server, if that matters."""
    workspace = _workspace(path)
    place = in_folder if _is_of_a_project(path) else with_folder
    return place(spec, workspace)


def _is_of_a_project(path: Path) -> bool:
    """Whether a client reads the file at `path` for one project, whose folder servers run in."""
    is_named_so = path.name == ".mcp.json" or path.absolute().parent.name in _PROJECT_FOLDERS
    return is_named_so and _workspace(path) != Path.home()


def _workspace(path: Path) -> Path:
    """The folder that the servers of the file at `path` mean by relative paths."""
    folder = path.absolute().parent
    return folder.parent if folder.name in _PROJECT_FOLDERS else folder
