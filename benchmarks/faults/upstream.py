"""The upstream of the fault benchmark: it does its work and keeps its own books.

    python -m benchmarks.faults.upstream SOURCE BOOKS             over stdio
    python -m benchmarks.faults.upstream SOURCE BOOKS --http      over HTTP; prints its port

Every effect is a line in BOOKS, synced before the answer goes out. The books, not anybody's answer,
say at the end what happened, and they are read again after a kill, so that a key is known for ever.
It speaks MCP of 2026-07-28 and of the generation with a handshake. Standard library only.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from benchmarks.faults.toolset import Effect, Tool, answer, complaint, digest, served_by

Json = dict[str, Any]
MODERN: Final = "2026-07-28"
OLDER: Final = "2025-11-25"
INVALID_PARAMS: Final = -32602
NO_METHOD: Final = -32601


class Books:
    """The effects of one source: appended, synced, never changed."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._by_key: dict[str, Json] = {}
        for line in path.read_text().splitlines() if path.exists() else ():
            self._remember(json.loads(line))
        self._file = path.open("a")

    def _remember(self, effect: Json) -> None:
        if effect["key"]:
            self._by_key[effect["key"]] = effect

    def enter(self, effect: Json) -> Json:
        """Write an effect down; what its key did before takes its place."""
        with self._lock:
            before = self._by_key.get(effect["key"])
            if before is not None:
                return before
            self._file.write(json.dumps(effect) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())
            self._remember(effect)
            return effect


class Upstream:
    """What a source answers to MCP requests."""

    def __init__(self, source: str, books: Books) -> None:
        self._source = source
        self._tools = served_by(source)
        self._books = books
        self._answers = {
            "initialize": self._initialize,
            "server/discover": self._discover,
            "ping": lambda _params: {},
            "tools/list": self._list,
            "tools/call": self._call,
        }

    def reply(self, message: Json) -> Json | None:
        """The answer to a message; None to what wants none."""
        if "id" not in message or "method" not in message:
            return None
        params = message.get("params") or {}
        answering = self._answers.get(message["method"], _no_method)
        try:
            told = {"result": answering(params)}
        except _RefusalError as refusal:
            told = {"error": {"code": refusal.code, "message": str(refusal)}}
        return {"jsonrpc": "2.0", "id": message["id"], **told}

    def _initialize(self, params: Json) -> Json:
        del params
        capabilities = {"tools": {"listChanged": False}}
        info = {"name": self._source, "version": "1"}
        return {"protocolVersion": OLDER, "capabilities": capabilities, "serverInfo": info}

    def _discover(self, params: Json) -> Json:
        del params
        return {
            "supportedVersions": [MODERN],
            "capabilities": {"tools": {"listChanged": False}},
            "resultType": "complete",
            "cacheScope": "private",
            "ttlMs": 0,
        }

    def _list(self, params: Json) -> Json:
        del params
        entries = [tool.entry() for tool in self._tools.values()]
        return {"tools": entries, "resultType": "complete", "cacheScope": "private", "ttlMs": 0}

    def _call(self, params: Json) -> Json:
        tool = self._tools.get(params.get("name", ""))
        if tool is None:
            raise _RefusalError(INVALID_PARAMS, f"Unknown tool: {params.get('name')}")
        arguments = params.get("arguments") or {}
        wrong = complaint(tool, arguments)
        if wrong is not None:
            raise _RefusalError(INVALID_PARAMS, f"Invalid arguments for {tool.name}: {wrong}")
        value = answer(tool, arguments)
        if tool.effect is not Effect.READ:
            key = _key(tool, arguments, params.get("_meta") or {})
            effect = self._books.enter(_effect(tool, arguments, key))
            if effect["digest"] != digest(tool, arguments):
                raise _RefusalError(INVALID_PARAMS, f"the key {key!r} was used for something else")
        block = {"type": "text", "text": json.dumps(value)}
        return {
            "content": [block],
            "structuredContent": value,
            "isError": False,
            "resultType": "complete",
        }


class _RefusalError(Exception):
    """An error of JSON-RPC."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def _no_method(params: Json) -> Json:
    raise _RefusalError(NO_METHOD, f"no such method; it came with {sorted(params)}")


def _key(tool: Tool, arguments: Json, meta: Json) -> str:
    place, name = tool.key_place
    return str({"argument": arguments, "meta": meta}.get(place, {}).get(name) or "")


def _effect(tool: Tool, arguments: Json, key: str) -> Json:
    return {
        "case": arguments["case"],
        "tool": tool.reference,
        "key": key,
        "digest": digest(tool, arguments),
    }


def serve_stdio(upstream: Upstream) -> None:
    """Answer line by line until the input ends."""
    for line in sys.stdin.buffer:
        told = upstream.reply(json.loads(line))
        if told is not None:
            sys.stdout.buffer.write(json.dumps(told).encode() + b"\n")
            sys.stdout.buffer.flush()


def serve_http(upstream: Upstream) -> None:
    """Answer POSTs on a free port, which is printed first."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            told = upstream.reply(json.loads(body))
            text = b"" if told is None else json.dumps(told).encode()
            self.send_response(202 if told is None else 200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def do_GET(self) -> None:
            self.send_error(405)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its base's name
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    serve = serve_http if "--http" in sys.argv else serve_stdio
    serve(Upstream(sys.argv[1], Books(Path(sys.argv[2]))))
