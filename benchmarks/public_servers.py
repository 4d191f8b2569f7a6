"""Thirty public MCP servers from npm and PyPI: which, how they are installed, how they are started.

Each Python server has an environment of its own (they pin each other's libraries differently), the
Node servers share one folder. Keys are made up: the servers start and list, and what would need an
account is not called. Used by `many_servers.py`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

INSTALLING_AT_ONCE: Final = 2
_WORK: Final = "{work}"
"""Stands for a folder that the servers may read and write."""


@dataclass(frozen=True)
class PublicServer:
    """One server.

    Attributes:
        package: its name on npm or PyPI.
        args: what follows the command; `{work}` is the work folder.
        env: made-up settings that it wants before it starts.
        command: the command's name, where it is not the last part of the package's name.
    """

    package: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    command: str | None = None

    @property
    def name(self) -> str:
        """A name for the source."""
        return self.package.lstrip("@").replace("/", "-")


def _keyed(package: str, *keys: str, command: str | None = None) -> PublicServer:
    return PublicServer(package, env=dict.fromkeys(keys, "not-a-real-key"), command=command)


NODE: Final = (
    PublicServer("@modelcontextprotocol/server-everything", command="mcp-server-everything"),
    PublicServer(
        "@modelcontextprotocol/server-filesystem", (_WORK,), command="mcp-server-filesystem"
    ),
    PublicServer("@modelcontextprotocol/server-memory", command="mcp-server-memory"),
    _keyed(
        "@modelcontextprotocol/server-brave-search",
        "BRAVE_API_KEY",
        command="mcp-server-brave-search",
    ),
    _keyed(
        "@modelcontextprotocol/server-gitlab",
        "GITLAB_PERSONAL_ACCESS_TOKEN",
        command="mcp-server-gitlab",
    ),
    PublicServer("@antv/mcp-server-chart"),
    PublicServer("@upstash/context7-mcp"),
    PublicServer("mcp-server-code-runner"),
    PublicServer("@jpisnice/shadcn-ui-mcp-server", command="shadcn-mcp"),
    PublicServer("@hypothesi/tauri-mcp-server", command="mcp-server-tauri"),
    PublicServer("drawio-mcp-server"),
    PublicServer("@eslint/mcp", command="mcp"),
    PublicServer("@playwright/mcp", command="playwright-mcp"),
    PublicServer("chrome-devtools-mcp"),
    PublicServer("@wonderwhy-er/desktop-commander"),
    PublicServer("@cyanheads/git-mcp-server"),
    PublicServer("@mcpfun/mcp-server-ccxt"),
    PublicServer("mongodb-mcp-server"),
    _keyed("todoist-mcp", "API_KEY"),
    _keyed("resend-mcp", "RESEND_API_KEY"),
    _keyed("@notionhq/notion-mcp-server", "NOTION_TOKEN"),
    _keyed("@shortcut/mcp", "SHORTCUT_API_TOKEN", command="mcp-server-shortcut"),
    _keyed("@zereight/mcp-gitlab", "GITLAB_PERSONAL_ACCESS_TOKEN"),
)
PYTHON: Final = (
    PublicServer("mcp-server-time", ("--local-timezone", "Europe/Berlin")),
    PublicServer("mcp-server-git", ("--repository", _WORK)),
    PublicServer("mcp-server-fetch"),
    PublicServer("duckduckgo-mcp-server"),
    PublicServer("arxiv-mcp-server", ("--storage-path", _WORK)),
    PublicServer("excel-mcp-server", ("stdio",)),
    PublicServer("office-word-mcp-server", command="word_mcp_server"),
)


def install(folder: Path) -> dict[str, Any]:
    """Install what is missing, and give the client configuration of what is there."""
    work = folder / "work"
    work.mkdir(parents=True, exist_ok=True)
    if not (work / ".git").exists():
        subprocess.run(["git", "init", "--quiet", str(work)], check=True)
    _install_node(folder / "node")
    with ThreadPoolExecutor(INSTALLING_AT_ONCE) as pool:
        list(pool.map(lambda server: _install_python(folder / server.name, server), PYTHON))
    found = {
        server.name: _entry(folder / "node" / "node_modules" / ".bin", server, work)
        for server in NODE
    } | {server.name: _entry(folder / server.name / "bin", server, work) for server in PYTHON}
    config = {name: entry for name, entry in found.items() if entry is not None}
    for name in found.keys() - config.keys():
        sys.stderr.write(f"{name}: could not be installed, or has no command of that name\n")
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": config}, indent=2))
    return config


def _install_node(folder: Path) -> None:
    if shutil.which("npm") is None:
        raise SystemExit("needs Node and npm")
    folder.mkdir(exist_ok=True)
    missing = [s.package for s in NODE if not (folder / "node_modules" / s.package).exists()]
    if missing:
        quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--legacy-peer-deps"]
        subprocess.run(["npm", "install", "--prefix", str(folder), *quiet, *missing], check=True)


def _install_python(folder: Path, server: PublicServer) -> None:
    done = folder / "installed"
    if done.exists():
        return
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install"]
    if subprocess.run([*pip, "--quiet", server.package], check=False).returncode == 0:
        done.touch()


def _entry(commands: Path, server: PublicServer, work: Path) -> dict[str, Any] | None:
    command = commands / (server.command or server.package.rpartition("/")[2])
    if not command.exists():
        return None
    args = [str(work) if arg == _WORK else arg for arg in server.args]
    return {"command": str(command), "args": args, "env": server.env}
