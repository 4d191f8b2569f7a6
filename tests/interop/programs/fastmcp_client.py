"""FastMCP's client: `fastmcp_client.py URL FOLDER`."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from fastmcp import Client
from report import report


class Fast:
    """One connection."""

    def __init__(self, client: Client[Any]) -> None:
        self._client = client

    async def names(self) -> list[str]:
        """See `report.Session`."""
        return [tool.name for tool in await self._client.list_tools()]

    async def call(
        self, name: str, arguments: dict[str, Any], told: list[float] | None = None
    ) -> tuple[str, bool]:
        """See `report.Session`."""

        async def on_progress(progress: float, _total: float | None, _text: str | None) -> None:
            if told is not None:
                told.append(progress)

        result = await self._client.call_tool(
            name, arguments, raise_on_error=False, progress_handler=on_progress
        )
        texts = [block.text for block in result.content if block.type == "text"]
        return "\n".join(texts), result.is_error


async def _ask(_message: str, _kind: Any, _params: Any, _context: Any) -> dict[str, str]:
    return {"name": "Ada"}


async def main() -> None:
    """Connect and report."""
    async with Client(sys.argv[1], elicitation_handler=_ask) as client:
        await report(Fast(client))


asyncio.run(main())
