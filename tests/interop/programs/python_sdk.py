"""The Python SDK's client: `python_sdk.py URL FOLDER legacy | auto`."""

from __future__ import annotations

import sys
from typing import Any

import anyio
import mcp_types as types
from mcp.client.client import Client
from report import report


class Sdk:
    """One connection."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def names(self) -> list[str]:
        """See `report.Session`."""
        names: list[str] = []
        cursor = None
        while True:
            page = await self._client.list_tools(cursor=cursor)
            names += [tool.name for tool in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                return names

    async def call(
        self, name: str, arguments: dict[str, Any], told: list[float] | None = None
    ) -> tuple[str, bool]:
        """See `report.Session`."""

        async def on_progress(progress: float, _total: float | None, _text: str | None) -> None:
            if told is not None:
                told.append(progress)

        result = await self._client.call_tool(
            name, arguments, progress_callback=None if told is None else on_progress
        )
        texts = [block.text for block in result.content if isinstance(block, types.TextContent)]
        return "\n".join(texts), bool(result.is_error)


async def _ask(_context: Any, _params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "Ada"})


async def main() -> None:
    """Connect and report."""
    async with Client(sys.argv[1], mode=sys.argv[3], elicitation_callback=_ask) as client:
        await report(Sdk(client))


anyio.run(main)
