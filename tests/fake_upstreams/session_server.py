"""An MCP server of 2025-11-25 over HTTP that keeps state in sessions: `session_server.py [STYLE]`.

It prints its URL first and listens at PORT, so that another one can be started in its place. STYLE
is how it says that it does not know a session: `404`, `410`, `400` (plain words) or `400-error` (a
JSON-RPC error); `stateless` makes it a server of 2026-07-28, which has none. Every effect is
appended to the file that EFFECTS names.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
from anyio.abc import SocketAttribute, SocketStream

TOOLS = [
    {"name": name, "inputSchema": {"type": "object"}}
    for name in ("set", "get", "wait", "reset", "mixed up")
]
STYLE = sys.argv[1] if len(sys.argv) > 1 else "404"
REASONS = {404: "Not Found", 410: "Gone", 400: "Bad Request", 202: "Accepted", 200: "OK"}
sessions: dict[str, dict[str, Any]] = {}


def note(effect: str) -> None:
    if "EFFECTS" in os.environ:
        with Path(os.environ["EFFECTS"]).open("a") as effects:
            effects.write(f"{effect}\n")


async def one_request(stream: SocketStream, heard: bytes) -> tuple[dict[str, str], bytes, bytes]:
    while b"\r\n\r\n" not in heard:
        heard += await stream.receive()
    head, _, rest = heard.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = {":method": lines[0].split(" ")[0]}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    length = int(headers.get("content-length", "0"))
    while len(rest) < length:
        rest += await stream.receive()
    return headers, rest[:length], rest[length:]


async def answer(stream: SocketStream, status: int, body: bytes, **headers: str) -> None:
    told = {"Content-Length": str(len(body)), "Content-Type": "application/json", **headers}
    lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Odd')}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in told.items()]
    await stream.send("\r\n".join([*lines, "", ""]).encode() + body)


async def refuse_session(stream: SocketStream) -> None:
    if STYLE == "400-error":
        error = {"code": -32000, "message": "Bad Request: No valid session ID provided"}
        told = {"jsonrpc": "2.0", "id": None, "error": error}
        await answer(stream, 400, json.dumps(told).encode())
        return
    body = b"Session not found" if STYLE == "400" else b""
    await answer(stream, int(STYLE), body, Content_Type="text/plain")


async def carry(stream: SocketStream, headers: dict[str, str], body: bytes) -> bool:
    """Answer one request; whether the connection goes on."""
    if headers[":method"] != "POST":
        await answer(stream, 405, b"")
        return True
    request = json.loads(body)
    if STYLE == "stateless":
        return await in_session(stream, request, {})
    if headers.get("mcp-protocol-version") == "2026-07-28":
        await answer(stream, 400, b"")
        return True
    if request["method"] == "initialize":
        name = uuid4().hex
        sessions[name] = {}
        result = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "sessions", "version": "1"},
        }
        told = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        await answer(stream, 200, json.dumps(told).encode(), Mcp_Session_Id=name)
        return True
    state = sessions.get(headers.get("mcp-session-id", ""))
    if state is None:
        await refuse_session(stream)
        return True
    if "id" not in request:
        await answer(stream, 202, b"")
        return True
    return await in_session(stream, request, state)


async def in_session(stream: SocketStream, request: dict[str, Any], state: dict[str, Any]) -> bool:
    result: dict[str, Any] = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    if request["method"] == "tools/list":
        note("list")
        result = {"tools": TOOLS}
    elif request["method"] == "tools/call":
        name, given = request["params"]["name"], request["params"].get("arguments", {})
        note(name)
        if name == "reset":
            reset(stream)
            return False
        if name == "wait":
            await anyio.sleep(given["seconds"])
        if name == "set":
            state |= given
        if name == "mixed up":
            request["id"] = 4711
        result = {"content": [], "structuredContent": {**state}}
    result |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
    told = {"jsonrpc": "2.0", "id": request["id"], "result": result}
    await answer(stream, 200, json.dumps(told).encode())
    return True


def reset(stream: SocketStream) -> None:
    raw = stream.extra(SocketAttribute.raw_socket)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def serve(stream: SocketStream) -> None:
    heard, goes_on = b"", True
    try:
        async with stream:
            while goes_on:
                headers, body, heard = await one_request(stream, heard)
                goes_on = await carry(stream, headers, body)
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        pass


async def main() -> None:
    port = int(os.environ.get("PORT", "0"))
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port)
    bound = listener.extra(SocketAttribute.local_port)
    print(f"http://127.0.0.1:{bound}/mcp", flush=True)
    await listener.serve(serve)


anyio.run(main)
