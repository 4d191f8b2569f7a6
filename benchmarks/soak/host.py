"""One process that is many MCP upstreams over HTTP: `python -m benchmarks.soak.host`.

Prints its port; upstream N is at `/N/mcp`. Every upstream has the tools `work` (answers after
some milliseconds), `wait` (after the seconds that are asked for) and is told by POST to
`/N/mood` how it feels: `well`, `failing` (HTTP 500) or `silent` (no answer). Speaks 2026-07-28.
"""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any, Final

import anyio
import uvicorn

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

Json = dict[str, Any]
WORK_SECONDS: Final = 0.01
FOR_LONG: Final = 3_600
_NUMBER: Final = {"type": "integer"}
TOOLS: Final = [
    {
        "name": "work",
        "description": "Does a little.",
        "inputSchema": {"type": "object", "properties": {"n": _NUMBER}, "required": ["n"]},
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "wait",
        "description": "Waits.",
        "inputSchema": {
            "type": "object",
            "properties": {"n": _NUMBER, "seconds": {"type": "number"}},
            "required": ["n", "seconds"],
        },
        "annotations": {"readOnlyHint": True},
    },
]
_COMMON: Final = {"resultType": "complete", "cacheScope": "private", "ttlMs": 0}


class Host:
    """An ASGI application without any framework: it must not be what is measured."""

    def __init__(self) -> None:
        self._moods: dict[str, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        number, _, what = scope["path"].strip("/").partition("/")
        body = await _body(receive)
        if what == "mood":
            self._moods[number] = body.decode()
            await _answer(send, 200, {})
        elif scope["method"] != "POST":
            await _answer(send, 405, {})
        else:
            await self._mcp(number, json.loads(body), send)

    async def _mcp(self, number: str, message: Json, send: Send) -> None:
        if "id" not in message:
            await _answer(send, 202, {})
            return
        called = message.get("method") == "tools/call"
        mood = self._moods.get(number, "well") if called else "well"
        if mood == "failing":
            await _answer(send, 500, {"error": "broken"})
            return
        if mood == "silent":
            await anyio.sleep(FOR_LONG)
        params = message.get("params") or {}
        told = await _called(params) if called else _LISTED.get(message["method"])
        fault = {"error": {"code": -32601, "message": "no such method"}}
        told_so = fault if told is None else {"result": {**told, **_COMMON}}
        await _answer(send, 200, {"jsonrpc": "2.0", "id": message["id"], **told_so})


_LISTED: Final[dict[str, Json]] = {
    "tools/list": {"tools": TOOLS},
    "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
    "ping": {},
}


async def _called(params: Json) -> Json:
    given = params.get("arguments") or {}
    await anyio.sleep(given.get("seconds", WORK_SECONDS))
    value = {"n": given.get("n")}
    block = {"type": "text", "text": json.dumps(value)}
    return {"content": [block], "structuredContent": value}


async def _body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        event = await receive()
        body += event.get("body", b"")
        more = event.get("more_body", False)
    return body


async def _answer(send: Send, status: int, value: Json) -> None:
    body = json.dumps(value).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def serve() -> None:
    """Serve on a free port, which is printed."""
    # Without the protocol asyncio leaves Nagle's algorithm on, and each answer takes 40 ms more.
    with socket.socket(proto=socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            Host(), log_level="error", access_log=False, lifespan="off", backlog=2_048
        )
        print(listener.getsockname()[1], flush=True)
        await uvicorn.Server(config).serve([listener])


if __name__ == "__main__":
    anyio.run(serve)
