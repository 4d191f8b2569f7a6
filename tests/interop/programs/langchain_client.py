"""LangChain's MCP adapters (on the 1.x SDK): `langchain_client.py URL FOLDER`."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient
from mcp.types import ElicitResult
from report import report


class Chain:
    """A client that opens a session for each call."""

    def __init__(self, url: str) -> None:
        self._told: list[float] = []
        callbacks = Callbacks(on_progress=self._on_progress, on_elicitation=_ask)
        self._client = MultiServerMCPClient(
            {"crib": {"transport": "streamable_http", "url": url}}, callbacks=callbacks
        )

    async def names(self) -> list[str]:
        """See `report.Session`."""
        return [tool.name for tool in await self._client.get_tools()]

    async def call(
        self, name: str, arguments: dict[str, Any], told: list[float] | None = None
    ) -> tuple[str, bool]:
        """See `report.Session`."""
        self._told = [] if told is None else told
        tool = next(tool for tool in await self._client.get_tools() if tool.name == name)
        call = {"type": "tool_call", "id": "1", "name": name, "args": arguments}
        message = await tool.ainvoke(call)
        return message.text, message.status == "error"

    async def _on_progress(
        self, progress: float, _total: float | None, _message: str | None, _context: Any
    ) -> None:
        self._told.append(progress)


async def _ask(_mcp_context: Any, _params: Any, _context: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"name": "Ada"})


asyncio.run(report(Chain(sys.argv[1])))
