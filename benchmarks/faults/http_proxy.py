"""The fault proxy over HTTP: the address that a gateway is given in place of the upstream's.

    python -m benchmarks.faults.http_proxy SOURCE FOLDER

Prints its port and starts the upstream. A call passes through, except where the plan has a fault.
When the upstream dies (by plan, or between calls by SIGUSR1 from the runner), so does everything
that a caller sees of it: connections are reset and the port is closed until it is there again.
"""

from __future__ import annotations

import http.client
import json
import os
import queue
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from benchmarks.faults.answer_faults import acts, with_fault
from benchmarks.faults.proxy_book import ProxyBook

Json = dict[str, Any]
FOR_LONG: Final = 3_600
STATUSES: Final = {
    "rate_limited": 429,
    "signed_out": 401,
    "error_500": 500,
    "error_502": 502,
    "error_503": 503,
    "error_504": 504,
}
DIED: Final = "died"
ENDED: Final = "ended"
_AT_ONCE: Final = struct.pack("ii", 1, 0)
"""SO_LINGER: closing sends a reset."""


class Front(ThreadingHTTPServer):
    """The port, and the connections that are open on it."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, port: int, proxy: HttpProxy) -> None:
        self.proxy = proxy
        self.connections: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), Carrier)

    def handle_error(self, request: object, client_address: object) -> None:
        """A connection that was reset on purpose is no news."""


class Carrier(BaseHTTPRequestHandler):
    """One connection of the gateway."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Front

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)
        self._behind: http.client.HTTPConnection | None = None

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        if self._behind is not None:
            self._behind.close()
        super().finish()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        message = json.loads(body)
        proxy = self.server.proxy
        case, fault = proxy.book.arrival(message)
        way = fault["way"] if fault else ""
        reply = None
        if fault is None or acts(way, fault["moment"]):
            reply = self._asked(body)
        if fault is not None:
            proxy.book.write("fault", case, way=way)
            self._answer_with(way, fault, message, reply)
        else:
            self._answer(reply, case)

    def do_GET(self) -> None:
        self.send_error(405)

    def do_DELETE(self) -> None:
        self.send_error(405)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its base's name
        """Say nothing."""

    def _asked(self, body: bytes) -> Json | None:
        if self._behind is None:
            self._behind = http.client.HTTPConnection("127.0.0.1", self.server.proxy.behind)
        self._behind.request("POST", "/mcp", body, {"content-type": "application/json"})
        text = self._behind.getresponse().read()
        return dict(json.loads(text)) if text else None

    def _answer_with(self, way: str, fault: Json, message: Json, reply: Json | None) -> None:
        case = message["params"]["arguments"]["case"]
        if way in STATUSES:
            self._refuse(STATUSES[way], fault)
        elif (told := with_fault(way, fault, message, reply)) is not None:
            self._answer(told, case)
        elif way == "slow":
            time.sleep(fault["seconds"])
            self._answer(reply, case)
        elif way == "malformed":
            self._send(200, b'{"jsonrpc": "2.0", "id": 1, "resu', {})
        elif way in {"crash", "kill"}:
            self.server.proxy.deaths.put(DIED)
            time.sleep(FOR_LONG)
        elif way == "reset":
            _reset(self.connection)
            self.close_connection = True
        else:
            time.sleep(FOR_LONG)

    def _refuse(self, status: int, fault: Json) -> None:
        more = {"www-authenticate": "Bearer"} if status == 401 else {}
        if status == 429:
            # Whole seconds are all that the header can say.
            more = {"retry-after": str(max(1, round(fault["seconds"])))}
        self._send(status, b'{"error": "' + str(status).encode() + b'"}', more)

    def _answer(self, reply: Json | None, case: str) -> None:
        if case:
            self.server.proxy.book.write("answered", case)
        if reply is None:
            self._send(202, b"", {})
        else:
            self._send(200, json.dumps(reply).encode(), {})

    def _send(self, status: int, body: bytes, more: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **more}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class HttpProxy:
    """The front, the upstream behind it, and both their deaths."""

    def __init__(self, source: str, folder: Path) -> None:
        self.book = ProxyBook(source, folder)
        self.deaths: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.behind = 0
        books = str(folder / f"effects-{source}.jsonl")
        self._command = [
            sys.executable,
            "-m",
            "benchmarks.faults.upstream",
            source,
            books,
            "--http",
        ]
        self._folder, self._source = folder, source

    def run(self) -> None:
        """Serve until ended; die and come back as often as is wanted."""
        signal.signal(signal.SIGUSR1, lambda _number, _frame: self.deaths.put(DIED))
        signal.signal(signal.SIGTERM, lambda _number, _frame: self.deaths.put(ENDED))
        upstream = self._started()
        front = self._front(0)
        print(front.server_address[1], flush=True)
        (self._folder / f"pid-{self._source}").write_text(str(os.getpid()))
        while self.deaths.get() == DIED:
            upstream.kill()
            port = int(front.server_address[1])
            self._close(front)
            self.book.write("down", "")
            died = time.monotonic()
            upstream.wait()
            upstream = self._started()
            front = self._front(port)
            self.book.write("up", "", since=died)
        upstream.kill()

    def _started(self) -> subprocess.Popen[str]:
        upstream = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert upstream.stdout is not None
        self.behind = int(upstream.stdout.readline())
        return upstream

    def _front(self, port: int) -> Front:
        front = Front(port, self)
        threading.Thread(target=front.serve_forever, args=(0.01,), daemon=True).start()
        return front

    def _close(self, front: Front) -> None:
        front.server_close()
        for connection in list(front.connections):
            _reset(connection)
        front.shutdown()


def _reset(connection: socket.socket) -> None:
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        connection.shutdown(socket.SHUT_RD)
        os.close(connection.detach())
    except OSError:
        # Gone already.
        return


if __name__ == "__main__":
    HttpProxy(sys.argv[1], Path(sys.argv[2])).run()
    os._exit(0)
