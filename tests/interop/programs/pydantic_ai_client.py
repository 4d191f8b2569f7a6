"""Pydantic AI's MCP toolset: `pydantic_ai_client.py URL FOLDER`."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from pydantic_ai import ModelRetry
from pydantic_ai.mcp import MCPToolset
from report import report


class Pydantic:
    """One connection."""

    def __init__(self, url: str) -> None:
        self._told: list[float] = []
        self.toolset = MCPToolset(url, elicitation_handler=_ask, progress_handler=self._on_progress)

    async def names(self) -> list[str]:
        """See `report.Session`."""
        return [tool.name for tool in await self.toolset.list_tools()]

    async def call(
        self, name: str, arguments: dict[str, Any], told: list[float] | None = None
    ) -> tuple[str, bool]:
        """See `report.Session`."""
        self._told = [] if told is None else told
        try:
            return str(await self.toolset.direct_call_tool(name, arguments)), False
        except ModelRetry as error:
            return str(error), True

    async def _on_progress(
        self, progress: float, _total: float | None, _message: str | None
    ) -> None:
        self._told.append(progress)


async def _ask(_message: str, _kind: Any, _params: Any, _context: Any) -> dict[str, str]:
    return {"name": "Ada"}


async def main() -> None:
    """Connect and report."""
    client = Pydantic(sys.argv[1])
    async with client.toolset:
        await report(client)


asyncio.run(main())
