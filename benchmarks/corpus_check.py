"""Every tool of a folder of real `tools/list` answers, judged, published and put on three wires.

Prints what became of the tools and what it cost. Ends with 1 if anything crashes, or if a tool that
was accepted is invalid on a wire.

    python benchmarks/corpus_check.py FOLDER_OF_JSON_FILES
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections import Counter, defaultdict
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mcp_types.methods import serialize_server_result
from pydantic import ValidationError

from toolcrib_adapters.surfaces.native_tools import NativeTool
from toolcrib_adapters.surfaces.published_forms import PublishedForms
from toolcrib_protocol.foreign_tool import Adopted, judge
from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.schema import Checker, Dialect, publish, sample, signature
from toolcrib_registry.changes import PutSource
from toolcrib_registry.listing import Listing, accept_listing
from toolcrib_registry.records import SourceKind, SourceRecord
from toolcrib_registry.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolcrib_protocol.json_value import JsonObject

Result = TypeVar("Result")
WIRES = ("2025-06-18", "2025-11-25", "2026-07-28")
MODERN = "2026-07-28"


class Tally:
    """What became of the tools, and the CPU time of each step."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.faults: list[str] = []
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.slowest: dict[str, tuple[float, str]] = {}

    def timed(self, step: str, tool: str, work: Callable[[], Result]) -> Result:
        """The result of `work`, its CPU time added to the step's."""
        start = time.process_time()
        result = work()
        took = time.process_time() - start
        self.seconds[step] += took
        self.slowest[step] = max(self.slowest.get(step, (0.0, "")), (took, tool))
        return result


def lists(folder: Path) -> Iterator[tuple[str, list[JsonObject]]]:
    """The raw tools of every file, with the file's name."""
    for path in sorted(folder.glob("*.json")):
        yield path.stem, json.loads(path.read_bytes()).get("tools") or []


def check(source: str, raw: JsonObject, tally: Tally) -> None:
    """Take one tool all the way."""
    label = f"{source}/{raw.get('name')}"
    verdict = tally.timed("judge", label, lambda: judge(raw))
    if not isinstance(verdict, Adopted):
        tally.outcomes["quarantined"] += 1
        tally.reasons[f"quarantined: {verdict.pointer} {verdict.reason}"] += 1
        return
    tally.outcomes["repaired" if verdict.repairs else "accepted"] += 1
    tally.reasons.update(f"repaired: {repair}" for repair in verdict.repairs)
    tally.timed("compile", label, lambda: Checker.compile(verdict.input_schema))
    form = tally.timed("publish", label, lambda: publish(verdict.input_schema))
    tally.outcomes["rewritten for models"] += form.is_rewritten
    tally.outcomes["characters exact"] += len(json.dumps(verdict.input_schema))
    tally.outcomes["characters published"] += len(json.dumps(form.schema))
    if publish(form.schema).schema != form.schema:
        tally.faults.append(f"{label}: publishing the published form changes it")
    if Checker.compile(form.schema).dialect is not Dialect.D2020_12:
        tally.faults.append(f"{label}: the published form is not of dialect 2020-12")
    tally.timed("signature", label, lambda: signature("t", form.schema, verdict.output_schema))
    example = tally.timed("sample", label, lambda: sample(verdict.input_schema))
    tally.outcomes["with a valid example"] += example is not None


def wire_faults(source: str, raws: list[JsonObject]) -> Iterator[str]:
    """Why a tool of a list is invalid on a wire, natively on the plain endpoint or its group's."""
    home = [PutSource(SourceRecord("home", SourceKind.SNAPSHOT, {}, "home"))]
    snapshot = Snapshot().with_changes(home, 1)
    changes = accept_listing(snapshot, Listing("home", (*raws,)), "2026-12-01T00:00:00+00:00")
    forms = PublishedForms()
    for head in snapshot.with_changes(changes, 2).live_tools():
        for is_exact, version in product((False, True), WIRES):
            shown = NativeTool(head.tool.name, head, is_exact).definition(forms, version)
            result: JsonObject = {"tools": [shown]}
            if version == MODERN:
                result |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
            try:
                dump_json(serialize_server_result("tools/list", version, result)).encode()
            except (ValidationError, ValueError) as error:
                yield f"{source}/{head.tool.name} at {version}, exact {is_exact}: {error}"


def report(tally: Tally) -> None:
    """Print the tally."""
    tools = sum(tally.outcomes[kind] for kind in ("accepted", "repaired", "quarantined"))
    print(f"{tools} tools", dict(tally.outcomes))
    for reason, count in tally.reasons.most_common():
        print(f"  {count:5} {reason}")
    for step, seconds in tally.seconds.items():
        took, tool = tally.slowest[step]
        mean = 1e3 * seconds / max(tools, 1)
        print(f"{step}: {seconds:.2f} s CPU, {mean:.3f} ms per tool, {1e3 * took:.1f} ms at {tool}")
    print(f"{len(tally.faults)} faults")
    for fault in tally.faults[:20]:
        print(" ", fault)


def main(folder: Path) -> int:
    """Check every tool below `folder`; 1 if one is at fault."""
    tally = Tally()
    for source, raws in lists(folder):
        for raw in raws:
            try:
                check(source, raw, tally)
            except Exception:  # noqa: BLE001 - a crash on one tool is what this looks for
                tally.faults.append(f"{source}/{raw.get('name')} crashed: {traceback.format_exc()}")
        tally.faults.extend(wire_faults(source, raws))
    report(tally)
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
