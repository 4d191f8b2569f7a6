"""The Inspector's command line: `inspector_cli.py URL FOLDER legacy | modern NODE INSPECTOR`.

One process a request; it can neither cancel nor answer questions.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from report import NotOffered, report

URL, ERA, NODE, INSPECTOR = sys.argv[1], *sys.argv[3:6]


class Inspector:
    """Starts a process for each request."""

    async def names(self) -> list[str]:
        """See `report.Session`."""
        return [tool["name"] for tool in (await _run("tools/list", "--strict"))["tools"]]

    async def call(
        self, name: str, arguments: dict[str, Any], told: list[float] | None = None
    ) -> tuple[str, bool]:
        """See `report.Session`."""
        if told is not None or name.endswith(("greet", "wait")):
            raise NotOffered
        given = ("--tool-name", name, "--tool-args-json", json.dumps(arguments))
        result = await _run("tools/call", *given)
        texts = [block["text"] for block in result["content"] if block["type"] == "text"]
        return "\n".join(texts), bool(result.get("isError"))


async def _run(method: str, *flags: str) -> dict[str, Any]:
    command = [NODE, INSPECTOR, "--cli", URL, "--protocol-era", ERA, "--method", method, *flags]
    process = await asyncio.create_subprocess_exec(
        *command,
        *("--format", "json"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, complaints = await process.communicate()
    # A refusal of `--strict` is told by the exit code alone; a tool's own failure has one, too.
    if not out.strip() or (method == "tools/list" and process.returncode):
        raise RuntimeError(f"exit code {process.returncode}: {complaints.decode()[-600:]}")
    document: dict[str, Any] = json.loads(out)
    result: dict[str, Any] = document.get("result", document)
    return result


asyncio.run(report(Inspector()))
