"""The fault proxy over stdio: what a gateway starts in place of the upstream.

    python -m benchmarks.faults.stdio_proxy SOURCE FOLDER

It starts the upstream and passes lines on, except where the plan has a fault. Its process id is
written to `pid-SOURCE`, for the runner that kills it between calls. Each call is carried in a
thread of its own; the upstream answers one after the other.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

from benchmarks.faults.answer_faults import acts, with_fault
from benchmarks.faults.proxy_book import ProxyBook

Json = dict[str, Any]
FOR_LONG: Final = 3_600


class StdioProxy:
    """Between a gateway's pipes and an upstream's."""

    def __init__(self, source: str, folder: Path) -> None:
        self._book = ProxyBook(source, folder)
        books = str(folder / f"effects-{source}.jsonl")
        command = [sys.executable, "-m", "benchmarks.faults.upstream", source, books]
        self._upstream = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._asking = threading.Lock()
        self._writing = threading.Lock()
        (folder / f"pid-{source}").write_text(str(os.getpid()))
        # The upstream is asked first, so that its own start is part of this, too.
        self._asked({"jsonrpc": "2.0", "id": "up", "method": "ping"})
        self._book.write("up", "", since=_started_at())

    def run(self) -> None:
        """Carry every line; end with the input."""
        for line in sys.stdin.buffer:
            threading.Thread(target=self._carry, args=(json.loads(line),), daemon=True).start()
        self._upstream.kill()

    def _carry(self, message: Json) -> None:
        case, fault = self._book.arrival(message)
        way = fault["way"] if fault else ""
        reply = None
        if fault is None or acts(way, fault["moment"]):
            reply = self._asked(message)
        if fault is not None:
            self._book.write("fault", case, way=way)
            reply = self._with_fault(way, fault, message, reply)
        if reply is not None:
            if case:
                self._book.write("answered", case)
            self._write(json.dumps(reply).encode() + b"\n")

    def _asked(self, message: Json) -> Json | None:
        """What the upstream answers; it is asked one thing at a time."""
        with self._asking:
            assert self._upstream.stdin is not None
            assert self._upstream.stdout is not None
            self._upstream.stdin.write(json.dumps(message).encode() + b"\n")
            self._upstream.stdin.flush()
            if "id" not in message or "method" not in message:
                return None
            line = self._upstream.stdout.readline()
            return None if not line else dict(json.loads(line))

    def _with_fault(self, way: str, fault: Json, message: Json, reply: Json | None) -> Json | None:
        told = with_fault(way, fault, message, reply)
        if told is not None:
            return told
        if way == "slow":
            time.sleep(fault["seconds"])
            return reply
        if way == "malformed":
            self._write(
                b'{"jsonrpc": "2.0", "id": ' + json.dumps(message["id"]).encode() + b', "resu\n'
            )
            return None
        if way == "crash":
            self._end(3)
        if way == "kill":
            self._end(-signal.SIGKILL)
        if way == "reset":
            # Closed, but alive: a server that lost its output.
            os.close(1)
        time.sleep(FOR_LONG)
        return None

    def _end(self, how: int) -> None:
        self._upstream.kill()
        if how < 0:
            os.kill(os.getpid(), -how)
        os._exit(how)

    def _write(self, data: bytes) -> None:
        with self._writing:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()


def _started_at() -> float:
    """When this process was made, on the monotonic clock; to a hundredth of a second."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return int(fields[19]) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    StdioProxy(sys.argv[1], Path(sys.argv[2])).run()
    # Threads that hang would keep it alive.
    os._exit(0)
