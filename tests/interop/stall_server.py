"""The MCP server that other people's clients reach through toolcrib: `stall_server.py` over stdio.

One tool for each thing that can go wrong between a client and a server. Speaks both generations.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import anyio
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

server = MCPServer("stall")


class Visitor(BaseModel):
    """Who is asked for."""

    name: str


def _who() -> Elicit[Visitor]:
    return Elicit("Who is asking?", Visitor)


@server.tool()
def echo(text: str) -> str:
    """Send the text back."""
    return text


@server.tool()
def refuse(reason: str) -> str:
    """Fail, for the reason given.

    Raises:
        ToolError: always.
    """
    raise ToolError(reason)


@server.tool()
async def wait(folder: str) -> None:
    """Wait until cancelled; leaves `started` and `cancelled` in the folder."""
    Path(folder, "started").touch()
    try:
        await anyio.sleep_forever()
    finally:
        Path(folder, "cancelled").touch()


@server.tool()
async def count(to: int, ctx: Context) -> int:
    """Count aloud."""
    for number in range(1, to + 1):
        await ctx.report_progress(number, to, f"{number} of {to}")
    return to


@server.tool()
def greet(who: Annotated[ElicitationResult[Visitor], Resolve(_who)]) -> str:
    """Ask the user who is there, and greet them."""
    return f"Hello {who.data.name}" if who.action == "accept" else f"no name: {who.action}"


@server.tool()
def fill(kilobytes: int) -> str:
    """Answer with much text."""
    return "0123456789abcde\n" * 64 * kilobytes


if __name__ == "__main__":
    server.run("stdio")
