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
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mcp_types.methods import serialize_server_result
from pydantic import ValidationError

from toolcrib_protocol.foreign_tool import Adopted, judge
from toolcrib_protocol.schema import Checker, Dialect, publish, sample, signature

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


def entries(folder: Path) -> Iterator[tuple[str, JsonObject]]:
    """The raw tools of every file, with the file's name."""
    for path in sorted(folder.glob("*.json")):
        for raw in json.loads(path.read_bytes()).get("tools") or []:
            yield path.stem, raw


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
    tally.faults.extend(wire_faults(label, verdict, form.schema))


def wire_faults(label: str, tool: Adopted, input_schema: JsonObject) -> Iterator[str]:
    """Why the published tool is invalid on a wire."""
    for version in WIRES:
        shown: JsonObject = {
            "name": "published_name",
            "description": tool.description,
            "inputSchema": input_schema,
        }
        output = tool.output_schema
        if output is not None and (version == MODERN or output.get("type") == "object"):
            shown["outputSchema"] = output
        result: JsonObject = {"tools": [shown]}
        if version == MODERN:
            result |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
        try:
            serialize_server_result("tools/list", version, result)
        except (ValidationError, ValueError) as error:
            yield f"{label} at {version}: {error}"


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
    for source, raw in entries(folder):
        try:
            check(source, raw, tally)
        except Exception:  # noqa: BLE001 - a crash on one tool is what this looks for
            tally.faults.append(f"{source}/{raw.get('name')} crashed: {traceback.format_exc()}")
    report(tally)
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
