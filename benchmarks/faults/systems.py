"""What is compared: toolcrib with more or less of its healing, and a peer; and how each is started.

Real processes over HTTP, in front of the same proxies. A caller of any of them is the same, too
(`caller`): it asks once, except after the gateway itself was killed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from benchmarks.faults.crib_file import crib_text

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT: Final = Path(__file__).parents[2]
TOOLCRIB: Final = str(Path(sys.executable).with_name("toolcrib"))
ALL: Final = ("retry", "repair", "fallback")
TIMEOUT_SECONDS: Final = 4
"""What the operator lets a call take, all attempts together."""


def environment() -> dict[str, str]:
    """For every process of a run."""
    # What was there stays: another version of toolcrib can be measured by it.
    path = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH")) if part)
    return {**os.environ, "PYTHONPATH": path, "TOOLCRIB_ENCODER": "none"}


def proxy_command(transport: str, source: str, folder: Path) -> list[str]:
    """What starts the fault proxy of a source."""
    module = f"benchmarks.faults.{transport}_proxy"
    return [sys.executable, "-m", module, source, str(folder)]


@dataclass
class System(ABC):
    """A gateway that can be started, killed, and started again with what it had.

    Attributes:
        title: for the tables.
        has_keys: whether it promises that repeating a write with the caller's key does no harm.
    """

    title: str
    process: subprocess.Popen[str] | None = None
    url: str = ""
    has_keys: ClassVar[bool]

    @abstractmethod
    def prepare(self, folder: Path, ports: Mapping[str, int]) -> None:
        """Make it ready in a folder; `ports` are those of the HTTP proxies."""

    @abstractmethod
    def start(self) -> None:
        """Start it; `url` is set."""

    @abstractmethod
    def request(self, source: str, name: str, arguments: Any) -> dict[str, Any]:
        """`name` and `arguments` of the `tools/call` that asks for this."""

    def kill(self) -> None:
        """SIGKILL, as if the power went."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def stop(self) -> None:
        """End it in the usual way."""
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()


@dataclass
class Toolcrib(System):
    """`toolcrib serve`, with the parts of healing that `parts` names."""

    parts: tuple[str, ...] = ALL
    has_keys = True
    _folder: Path = Path()

    def prepare(self, folder: Path, ports: Mapping[str, int]) -> None:
        self._folder = folder
        file = folder / "crib.toml"
        file.write_text(crib_text(folder, ports, self.parts, TIMEOUT_SECONDS))
        command = [TOOLCRIB, "apply", str(file), "--home", str(folder / "home")]
        done = subprocess.run(
            command, env=environment(), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"toolcrib apply: {done.stderr}")
        if done.stderr.count("warning"):
            print(done.stderr, file=sys.stderr)

    def start(self) -> None:
        command = [TOOLCRIB, "serve", "--port", "0", "--home", str(self._folder / "home")]
        log = (self._folder / "gateway.log").open("a")
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, stdout=log, text=True, env=environment()
        )
        assert self.process.stderr is not None
        while "http://" not in (line := self.process.stderr.readline()):
            if not line:
                raise SystemExit(f"{self.title} did not start; see {log.name}")
            log.write(line)
        self.url = line.split()[-1]
        # Nobody reads the rest; a full pipe would stop it.
        self._drain(log.name)

    def _drain(self, log: str) -> None:
        assert self.process is not None
        copy = f"cat >> {log}"
        subprocess.Popen(["sh", "-c", copy], stdin=self.process.stderr)

    def request(self, source: str, name: str, arguments: Any) -> dict[str, Any]:
        return {
            "name": "call_tool",
            "arguments": {"name": f"{source}/{name}", "arguments": arguments},
        }


@dataclass
class Fastmcp(System):
    """FastMCP's proxy of the same servers with its retry middleware."""

    python: Path = Path()
    kind: str = "default"
    has_keys = False
    _config: Path = Path()

    def prepare(self, folder: Path, ports: Mapping[str, int]) -> None:
        self._config = folder / "fastmcp.json"
        servers: dict[str, Any] = {
            source: {"url": f"http://127.0.0.1:{port}/mcp"} for source, port in ports.items()
        }
        for source in ("office", "mirror"):
            command, *args = proxy_command("stdio", source, folder)
            servers[source] = {"command": command, "args": args, "env": {"PYTHONPATH": str(ROOT)}}
        self._config.write_text(json.dumps({"mcpServers": servers}))

    def start(self) -> None:
        script = str(Path(__file__).with_name("fastmcp_peer.py"))
        command = [str(self.python), script, str(self._config), self.kind]
        log = self._config.with_name("gateway.log").open("a")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()

    def request(self, source: str, name: str, arguments: Any) -> dict[str, Any]:
        return {"name": f"{source}_{name}", "arguments": arguments}
