"""The MCP client of OpenAI's Agents SDK: `openai_agents_client.py URL FOLDER`."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from agents.mcp import MCPServerStreamableHttp
from report import NotOffered, report


class Agents:
    """One connection."""

    def __init__(self, server: MCPServerStreamableHttp) -> None:
        self._server = server

    async def names(self) -> list[str]:
        """See `report.Session`."""
        return [tool.name for tool in await self._server.list_tools()]

    async def call(
        self, name: str, arguments: dict[str, Any], told: list[float] | None = None
    ) -> tuple[str, bool]:
        """See `report.Session`."""
        if told is not None or name.endswith("greet"):
            # It hands neither progress nor questions of the server to anybody.
            raise NotOffered
        result = await self._server.call_tool(name, arguments)
        texts = [block.text for block in result.content if block.type == "text"]
        failed = getattr(result, "is_error", None) or getattr(result, "isError", None)
        return "\n".join(texts), bool(failed)


async def main() -> None:
    """Connect and report."""
    async with MCPServerStreamableHttp(
        params={"url": sys.argv[1]}, client_session_timeout_seconds=60
    ) as server:
        await report(Agents(server))


asyncio.run(main())
