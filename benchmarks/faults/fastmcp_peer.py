"""FastMCP's proxy with its retry middleware, for comparison: `python fastmcp_peer.py CONFIG KIND`.

CONFIG is a JSON file as FastMCP reads it; KIND is `default`, its usual set of errors that are
retried, or `any`, every error. Run in an environment of its own. The delay before a retry is made
shorter than its usual second, so that its times can be compared.
"""

from __future__ import annotations

import json
import socket
import sys

import anyio
from fastmcp.server import create_proxy
from fastmcp.server.middleware.error_handling import RetryMiddleware


async def serve(config: str, kind: str) -> None:
    """Serve the proxy on a free port; its URL is printed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    print(f"http://127.0.0.1:{port}/mcp", flush=True)
    proxy = create_proxy(json.loads(await anyio.Path(config).read_text()))
    retried = (Exception,) if kind == "any" else (ConnectionError, TimeoutError)
    proxy.add_middleware(RetryMiddleware(max_retries=3, base_delay=0.05, retry_exceptions=retried))
    options = {"host": "127.0.0.1", "port": port, "log_level": "error", "show_banner": False}
    await proxy.run_http_async(**options)


if __name__ == "__main__":
    anyio.run(serve, sys.argv[1], sys.argv[2])
