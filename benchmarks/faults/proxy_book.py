"""What a fault proxy knows: which case meets which fault, and how often it was asked already.

Used by the proxies of both transports. Arrivals are appended to a file, one line each, because a
proxy that kills itself must know afterwards that it did; times are of the monotonic clock, which
all processes of a Linux machine share.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]


class ProxyBook:
    """Faults to come and arrivals so far, of one source."""

    def __init__(self, source: str, folder: Path) -> None:
        """`folder` holds `faults.json`; arrivals go to `arrivals-SOURCE.jsonl` in it."""
        self._source = source
        self._faults: Json = json.loads((folder / "faults.json").read_text())
        self._seen: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()
        path = folder / f"arrivals-{source}.jsonl"
        for line in path.read_text().splitlines() if path.exists() else ():
            entry = json.loads(line)
            if entry["what"] == "arrived":
                self._seen[entry["case"], entry["tool"]] += 1
        self._file = path.open("a")

    def arrival(self, message: Json) -> tuple[str, Json | None]:
        """The case of a call, and the fault that this attempt meets; an empty text for no call."""
        if message.get("method") != "tools/call":
            return "", None
        params = message.get("params") or {}
        arguments = params.get("arguments")
        case = str((arguments if isinstance(arguments, dict) else {}).get("case", "?"))
        tool = f"{self._source}/{params.get('name')}"
        with self._lock:
            self._seen[case, tool] += 1
            attempt = self._seen[case, tool]
        fault: Json | None = self._faults.get(case)
        # Between calls it is the runner that kills; by the time of a call it is over.
        if fault is not None and (
            fault["tool"] != tool or attempt > fault["times"] or fault["moment"] == "idle"
        ):
            fault = None
        way = "" if fault is None else fault["way"]
        self.write("arrived", case, tool=tool, attempt=attempt, fault=way)
        return case, fault

    def write(self, what: str, case: str, **facts: Any) -> None:
        """Append what happened to a call, with the time."""
        entry = {"what": what, "case": case, "at": time.monotonic(), **facts}
        with self._lock:
            self._file.write(json.dumps(entry) + "\n")
            self._file.flush()
