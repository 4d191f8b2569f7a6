"""Other people's clients, fetched once into a cache outside this repository, each pinned.

The Python clients have an environment each, for they want different SDKs; the TypeScript ones share
a folder and run on the Node of the conformance kit. `python -m tests.interop.kit` fetches them and
prints the folder.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.conformance import kit as conformance

FOLDER_VARIABLE: Final = "TOOLCRIB_TEST_CLIENTS"
PYTHON_CLIENTS: Final = ("fastmcp", "langchain-mcp-adapters", "openai-agents", "pydantic-ai-slim")
_PINS: Final = Path(__file__).parent / "pins"
_PROGRAMS: Final = Path(__file__).parent / "programs"


@dataclass(frozen=True, slots=True)
class Kit:
    """The fetched clients in `folder`, and the Node to run some of them."""

    folder: Path
    node: Path

    @property
    def npm(self) -> Path:
        """The folder with the TypeScript clients."""
        return self.folder / "npm"

    @property
    def inspector(self) -> Path:
        """The program of the Inspector."""
        package = self.npm / "node_modules/@modelcontextprotocol/inspector"
        return package / "clients/launcher/build/index.js"

    def python(self, client: str) -> Path:
        """The interpreter of a Python client."""
        return self.folder / client / "bin" / "python"

    @property
    def is_complete(self) -> bool:
        """Whether everything was fetched."""
        return (self.folder / "complete").exists()

    def programs(self, folder: Path) -> Path:
        """A copy of our TypeScript programs from where Node finds what they import."""
        folder.mkdir(exist_ok=True)
        for program in _PROGRAMS.glob("*.mjs"):
            shutil.copy(program, folder)
        modules = folder / "node_modules"
        if not modules.exists():
            modules.symlink_to(self.npm / "node_modules")
        return folder


def default_folder() -> Path:
    """Where the clients of these pins are kept; other pins are another folder."""
    digest = hashlib.sha256()
    for pin in sorted(_PINS.iterdir()):
        digest.update(pin.read_bytes())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "toolcrib-clients" / digest.hexdigest()[:12]


def kit() -> Kit:
    """The fetched clients; skips the test where there are none, but fails it in CI."""
    folder = Path(os.environ.get(FOLDER_VARIABLE) or default_folder())
    found = Kit(folder, conformance.kit().node)
    if found.is_complete:
        return found
    reason = "needs other clients: run `.venv/bin/python -m tests.interop.kit`"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def fetched(folder: Path) -> Kit:
    """The clients in `folder`, fetched if they are not there."""
    node = conformance.fetched(conformance.chosen_folder()).node
    wanted = Kit(folder, node)
    if wanted.is_complete:
        return wanted
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Environments cannot be moved, so the mark of completeness comes last instead.
    for client in PYTHON_CLIENTS:
        _fetch_python(wanted.folder / client, _PINS / f"{client}.txt")
    conformance.fetch_packages(node, _PINS, wanted.npm)
    (wanted.folder / "complete").touch()
    return wanted


def _fetch_python(environment: Path, pins: Path) -> None:
    conformance.run(sys.executable, "-m", "venv", "--clear", str(environment))
    install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps")
    conformance.run(str(environment / "bin/python"), *install, "-r", str(pins))


if __name__ == "__main__":
    print(fetched(Path(os.environ.get(FOLDER_VARIABLE) or default_folder())).folder)
