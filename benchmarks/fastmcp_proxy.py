"""FastMCP's proxy, for comparison: `fastmcp_proxy.py default|pooled URL | COMMAND ARGUMENTS`.

Run by `gateway_cpu.py` in an environment of its own, because FastMCP is no dependency of ours.
"""

from __future__ import annotations

import socket
import sys

import anyio
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy


async def serve(kind: str, upstream: list[str]) -> None:
    """Serve the proxy of the server at `upstream` on a free port; its URL is printed."""
    target = upstream[0] if len(upstream) == 1 else StdioTransport(upstream[0], upstream[1:])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    print(f"http://127.0.0.1:{port}/mcp", flush=True)
    options = {"host": "127.0.0.1", "port": port, "log_level": "error", "show_banner": False}
    if kind == "default":
        await create_proxy(target).run_http_async(**options)
    else:
        async with Client(target) as client:
            await create_proxy(client).run_http_async(**options)


if __name__ == "__main__":
    anyio.run(serve, sys.argv[1], sys.argv[2:])
