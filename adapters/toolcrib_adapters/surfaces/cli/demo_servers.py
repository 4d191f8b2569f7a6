"""The public MCP servers of `toolcrib demo`, installed into its folder and configured for clients.

What cannot be installed (offline, no Node) is left out with a note; nothing outside the folder is
written.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_protocol.json_value import dump_json

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from toolcrib_protocol.json_value import JsonObject

PYTHON_PACKAGES: Final = ("mcp-server-time", "mcp-server-git")
NODE_PACKAGES: Final = (
    "@modelcontextprotocol/server-everything",
    "@modelcontextprotocol/server-filesystem",
    "@modelcontextprotocol/server-memory",
)
_LONGEST_INSTALL_SECONDS: Final = 600.0
_RECIPE: Final = "Pancakes: 250 g flour, 3 eggs, half a litre of milk, a pinch of salt.\n"


@dataclass(frozen=True, slots=True)
class DemoFolder:
    """Where everything of the demo is."""

    root: Path

    @property
    def python(self) -> Path:
        """A virtual environment with the Python servers."""
        return self.root / "python"

    @property
    def node(self) -> Path:
        """A folder with the Node servers."""
        return self.root / "node"

    @property
    def home(self) -> Path:
        """The demo's own crib."""
        return self.root / "home"

    @property
    def notes(self) -> Path:
        """A git repository with a file in it, for the servers to work on."""
        return self.root / "notes"

    @property
    def config(self) -> Path:
        """The client configuration that is imported."""
        return self.root / "mcp.json"


async def prepare(folder: DemoFolder, say: Callable[[str], None], *, offline: bool) -> bool:
    """Install what is missing and write the configuration of what is there; whether any is."""
    for path in (folder.root, folder.notes, folder.node):
        await anyio.Path(path).mkdir(mode=0o700, parents=True, exist_ok=True)
    if not offline:
        await _install_python(folder, say)
        await _install_node(folder, say)
    await _make_notes(folder)
    servers = await anyio.to_thread.run_sync(_servers, folder)
    text = dump_json({"mcpServers": servers}, indent=2)
    await anyio.Path(folder.config).write_text(text, encoding="utf-8")
    return bool(servers)


async def _install_python(folder: DemoFolder, say: Callable[[str], None]) -> None:
    python = folder.python / "bin" / "python"
    if all((folder.python / "bin" / name).exists() for name in PYTHON_PACKAGES):
        return
    say(f"installing {', '.join(PYTHON_PACKAGES)} from PyPI (once)")

    async def install() -> str:
        made = await _ran([sys.executable, "-m", "venv", str(folder.python)])
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        return made or await _ran([*pip, *PYTHON_PACKAGES])

    await _installed(install, "the Python servers", say)


async def _install_node(folder: DemoFolder, say: Callable[[str], None]) -> None:
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        say("no Node on this machine: going on without the servers that need it")
        return
    if all((folder.node / "node_modules" / package).exists() for package in NODE_PACKAGES):
        return
    say(f"installing {', '.join(NODE_PACKAGES)} from npm (once)")
    quiet = ["--no-audit", "--no-fund", "--silent", "--no-update-notifier"]

    async def install() -> str:
        return await _ran([npm, "install", "--prefix", str(folder.node), *quiet, *NODE_PACKAGES])

    await _installed(install, "the Node servers", say)


async def _installed(
    install: Callable[[], Awaitable[str]], what: str, say: Callable[[str], None]
) -> None:
    problem = f"it took over {_LONGEST_INSTALL_SECONDS:g} s"
    with anyio.move_on_after(_LONGEST_INSTALL_SECONDS):
        problem = await install()
    if problem:
        say(f"could not install {what}, going on without them: {problem}")


async def _ran(command: Sequence[str]) -> str:
    """Empty if the command succeeded, or the last line of what it said."""
    done = await anyio.run_process(
        command, check=False, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT
    )
    if done.returncode == 0:
        return ""
    said = done.stdout.decode("utf-8", "replace").strip().splitlines()
    return said[-1] if said else f"{command[0]} ended with {done.returncode}"


async def _make_notes(folder: DemoFolder) -> None:
    recipe = anyio.Path(folder.notes / "pancakes.txt")
    git = shutil.which("git")
    if not await recipe.exists():
        await recipe.write_text(_RECIPE, encoding="utf-8")
    if git is None or (folder.notes / ".git").exists():
        return
    name = ["-c", "user.name=demo", "-c", "user.email=demo@example.org", "-c", "commit.gpgsign=no"]
    at_notes = [git, "-C", str(folder.notes), *name]
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "Note pancakes"]):
        await _ran([*at_notes, *words])


def _servers(folder: DemoFolder) -> JsonObject:
    notes = str(folder.notes)
    python, node = folder.python / "bin", folder.node / "node_modules" / ".bin"
    wanted = {
        "time": (python / "mcp-server-time", ["--local-timezone", "Europe/Berlin"]),
        "git": (python / "mcp-server-git", ["--repository", notes]),
        "everything": (node / "mcp-server-everything", []),
        "filesystem": (node / "mcp-server-filesystem", [notes]),
        "memory": (node / "mcp-server-memory", []),
    }
    memory = str(folder.root / "memory.jsonl")
    return {
        name: {"command": str(path), "args": [*args], "env": {"MEMORY_FILE_PATH": memory}}
        if name == "memory"
        else {"command": str(path), "args": [*args]}
        for name, (path, args) in wanted.items()
        if path.exists() and (name != "git" or shutil.which("git"))
    }
