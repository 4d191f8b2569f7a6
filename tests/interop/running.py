"""Runs one client's program against a URL, and reads its report."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.interop.kit import Kit

_PROGRAMS: Final = Path(__file__).parent / "programs"
_SECONDS: Final = 300


@dataclass(frozen=True, slots=True)
class Client:
    """Another's client.

    Attributes:
        title: as the table of `docs/clients.md` names it.
        program: our program for it.
        environment: whose interpreter runs it: a Python client of the kit, or empty for ours.
        words: arguments after URL and folder.
    """

    title: str
    program: str
    environment: str = ""
    words: tuple[str, ...] = ()


CLIENTS: Final = (
    Client("Python SDK 2.3, handshake", "python_sdk.py", words=("legacy",)),
    Client("Python SDK 2.3, auto", "python_sdk.py", words=("auto",)),
    Client("TypeScript SDK 1.32", "ts_v1.mjs"),
    Client("TypeScript SDK 2.4, default", "ts_v2.mjs", words=("default",)),
    Client("TypeScript SDK 2.4, auto", "ts_v2.mjs", words=("auto",)),
    Client("Inspector 2.12 command line, handshake", "inspector_cli.py", words=("legacy",)),
    Client("Inspector 2.12 command line, 2026-07-28", "inspector_cli.py", words=("modern",)),
    Client("FastMCP 4.2 client", "fastmcp_client.py", "fastmcp"),
    Client("LangChain MCP adapters 0.3", "langchain_client.py", "langchain-mcp-adapters"),
    Client("Pydantic AI 2.68", "pydantic_ai_client.py", "pydantic-ai-slim"),
    Client("OpenAI Agents SDK 0.24", "openai_agents_client.py", "openai-agents"),
)


def outcomes(kit: Kit, client: Client, url: str, folder: Path) -> Mapping[str, str]:
    """What became of each thing that the client was asked to do."""
    given = [url, str(folder), *client.words]
    if client.program.startswith("inspector"):
        given += [str(kit.node), str(kit.inspector)]
    done = subprocess.run(
        [*_command(kit, client, folder), *given],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=_SECONDS,
        check=False,
        cwd=folder,
    )
    try:
        told: dict[str, str] = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return {"start": f"{done.stdout}{done.stderr}"[-2_000:]}
    return told


def _command(kit: Kit, client: Client, folder: Path) -> list[str]:
    if client.program.endswith(".mjs"):
        return [str(kit.node), str(kit.programs(folder / "programs") / client.program)]
    interpreter = str(kit.python(client.environment)) if client.environment else sys.executable
    return [interpreter, str(_PROGRAMS / client.program)]
