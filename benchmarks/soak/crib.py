"""A `toolcrib serve` in front of many upstreams, and what it holds: memory, descriptors, tasks."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx2

from benchmarks.faults.systems import TOOLCRIB, environment
from benchmarks.gateway_cpu import ACCEPT, ENVELOPE, MODERN
from benchmarks.running_crib import cpu_of

if TYPE_CHECKING:
    from collections.abc import Iterator

UPSTREAMS_A_HOST: Final = 50
CACHED: Final = "cached"
"""The source whose results are remembered."""


@dataclass(frozen=True)
class Holding:
    """What the gateway holds at one moment."""

    at: float
    rss_mib: float
    descriptors: int
    threads: int
    tasks: int
    cpu_seconds: float


@dataclass(frozen=True)
class Soaked:
    """A running crib and the addresses of the upstreams behind it.

    Attributes:
        url: of the endpoint.
        pid: of the gateway.
        upstreams: address by source, without `/mcp`.
    """

    url: str
    pid: int
    upstreams: dict[str, str]

    @property
    def sources(self) -> list[str]:
        """Names of the sources that are not remembered."""
        return [name for name in self.upstreams if name != CACHED]

    def holding(self) -> Holding:
        """What it holds now."""
        process = Path(f"/proc/{self.pid}")
        facts = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
        page = httpx2.get(self.url.replace("/mcp", "/metrics"), timeout=30).text
        tasks = next(
            line.split()[1] for line in page.splitlines() if line.startswith("toolcrib_tasks ")
        )
        return Holding(
            time.monotonic(),
            int(facts["VmRSS"].split()[0]) / 1024,
            len(list((process / "fd").iterdir())),
            int(facts["Threads"]),
            int(float(tasks)),
            cpu_of(self.pid),
        )

    def mood(self, source: str, mood: str) -> None:
        """Tell an upstream how it feels."""
        httpx2.post(f"{self.upstreams[source]}/mood", content=mood.encode())

    async def call(
        self, http: httpx2.AsyncClient, source: str, tool: str, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        """The result of a call; what is no result is told as `{"lost": why}`."""
        headers, body = request_of(f"{source}__{tool}", arguments)
        try:
            response = await http.post(self.url, json=body, headers=headers)
            told = response.json()
        except httpx2.HTTPError as error:
            return {"lost": repr(error)}
        except ValueError:
            return {"lost": f"HTTP {response.status_code} {response.text[:100]}"}
        result: dict[str, Any] = told.get("result") or {"lost": str(told)}
        return result


def request_of(name: str, arguments: dict[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """Headers and body of a call."""
    headers = {
        **ACCEPT,
        "content-type": "application/json",
        "mcp-protocol-version": MODERN,
        "mcp-method": "tools/call",
        "mcp-name": name,
    }
    params = {"name": name, "arguments": arguments, "_meta": ENVELOPE}
    return headers, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


@contextmanager
def soaked(upstreams: int) -> Iterator[Soaked]:
    """A crib with so many sources, and one more whose results are remembered."""
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        folder, hosts, gateway = Path(name), [], None
        try:
            addresses = {}
            names = [*(f"s{number}" for number in range(upstreams)), CACHED]
            for first in range(0, len(names), UPSTREAMS_A_HOST):
                command = [sys.executable, "-m", "benchmarks.soak.host"]
                host = subprocess.Popen(
                    command, stdout=subprocess.PIPE, text=True, env=environment()
                )
                hosts.append(host)
                assert host.stdout is not None
                port = int(host.stdout.readline())
                for source in names[first : first + UPSTREAMS_A_HOST]:
                    addresses[source] = f"http://127.0.0.1:{port}/{source}"
            gateway, url = _gateway(folder, addresses)
            yield Soaked(url, gateway.pid, addresses)
        finally:
            if gateway is not None:
                gateway.terminate()
                gateway.wait(30)
            for host in hosts:
                # Some of their answers would come in an hour.
                host.kill()
                host.wait()


def _gateway(folder: Path, addresses: dict[str, str]) -> tuple[subprocess.Popen[str], str]:
    file = folder / "crib.toml"
    entries = [f'[sources.{name}]\nurl = "{url}/mcp"\n' for name, url in addresses.items()]
    rule = f'[rules."source:{CACHED}"]\ncache_seconds = 600\n'
    file.write_text("\n".join([*entries, rule]))
    home = ["--home", str(folder / "home")]
    command = [TOOLCRIB, "apply", str(file), *home]
    subprocess.run(command, env=environment(), check=True, stdout=subprocess.DEVNULL)
    log = folder / "gateway.log"
    command = [TOOLCRIB, "serve", "--port", "0", *home]
    with log.open("w") as out:
        gateway = subprocess.Popen(command, stderr=out, stdout=out, text=True, env=environment())
    until = time.monotonic() + 60
    while time.monotonic() < until and gateway.poll() is None:
        lines = [line for line in log.read_text().splitlines() if "http://" in line]
        if lines:
            return gateway, lines[0].split()[-1]
        time.sleep(0.05)
    raise SystemExit(f"toolcrib serve: {log.read_text()}")
