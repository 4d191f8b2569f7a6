"""How many wrong arguments are repaired, wrongly repaired or refused, on schemas of real tools.

For each tool of a folder of real `tools/list` answers right arguments are drawn from its schema,
damaged in 24 ways (`faults/argument_faults.py`), and repaired. Repaired means: exactly the right
arguments came back. A wrong repair would be a call that nobody asked for; each is listed.

    python benchmarks/repair.py FOLDER_OF_JSON_FILES [--seed 1] [--json] [--wrong]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.faults.argument_faults import NOT_REPAIRABLE, REPAIRABLE, digits_for_a_text
from benchmarks.faults.dice import Dice
from toolcrib_protocol.foreign_tool import Adopted, judge
from toolcrib_protocol.schema import Checker
from toolcrib_registry.repair import repair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_protocol.json_value import Json, JsonObject

WORDS = ("spindle", "brass fitting", "Zürich", "歯車", "monthly report", "a-12", "main")
ROUNDS = 2
OFTEN = 0.75


@dataclass(frozen=True)
class PlainTool:
    """A tool as the makers of faults see it: the properties that have one plain type."""

    name: str
    schema: JsonObject
    properties: dict[str, Any]
    required: tuple[str, ...]
    key_place: tuple[str, str] = ("", "")
    is_destructive: bool = False


def plain_tools(folder: Path) -> Iterator[PlainTool]:
    """The tools whose required arguments can be drawn."""
    for path in sorted(folder.glob("*.json")):
        for raw in json.loads(path.read_bytes()).get("tools") or []:
            found = judge(raw)
            if not isinstance(found, Adopted):
                continue
            schema = found.input_schema
            parts = schema.get("properties")
            if not isinstance(parts, dict):
                continue
            plain = {
                name: part
                for name, part in parts.items()
                if isinstance(part, dict) and str(part.get("type")) in MAKERS
            }
            named = schema.get("required")
            required = tuple(map(str, named if isinstance(named, list) else ()))
            if plain and plain.keys() >= set(required):
                yield PlainTool(f"{path.stem}/{raw['name']}", schema, plain, required)


def value(part: JsonObject, dice: Dice) -> Json:
    listed = part.get("enum")
    if isinstance(listed, list) and listed:
        return dice.pick(listed)
    made: Json = MAKERS[str(part["type"])](part, dice)
    return made


def _items(part: JsonObject, dice: Dice) -> list[Json]:
    items = part.get("items")
    if not isinstance(items, dict) or str(items.get("type")) not in MAKERS:
        return [dice.pick(WORDS)]
    return [value(items, dice) for _ in range(dice.number(1, 2))]


MAKERS: dict[str, Any] = {
    "string": lambda _, dice: dice.pick(WORDS),
    "integer": lambda part, dice: dice.number(int(part.get("minimum") or 1), 12_000),
    "number": lambda _, dice: dice.number(1, 900_000) / 100,
    "boolean": lambda _, dice: dice.chance(0.5),
    "array": _items,
}


def right_arguments(tool: PlainTool, dice: Dice) -> JsonObject:
    chosen = (n for n in tool.properties if n in tool.required or dice.chance(OFTEN))
    given = {name: value(tool.properties[name], dice) for name in chosen}
    defaults = (n for n in tool.required if "default" in tool.properties[n] and dice.chance(OFTEN))
    return {**given, **{name: tool.properties[name]["default"] for name in defaults}}


def outcome(tool: PlainTool, checker: Checker, gold: JsonObject, damaged: Json) -> tuple[str, Json]:
    """What became of a damaged call, and the arguments that came out."""
    fits = isinstance(damaged, dict) and not checker.check(damaged)
    if fits and isinstance(damaged, dict) and not checker.unknown_arguments(damaged):
        return "fitted", damaged
    found = repair(damaged, tool.schema, checker, names=(tool.name,))
    if found is None:
        return "refused", None
    return ("right" if found.values == gold else "wrong"), found.values


def trials(tool: PlainTool, checker: Checker, seed: str) -> Iterator[tuple[str, JsonObject, Json]]:
    """Kinds of damage, right arguments, and the same damaged."""
    maker: Any = tool
    for turn, (kind, damage) in product(range(ROUNDS), {**REPAIRABLE, **NOT_REPAIRABLE}.items()):
        dice = Dice(f"{seed} {tool.name} {turn} {kind}")
        gold = right_arguments(tool, dice)
        if kind == "number where a string is wanted":
            gold = digits_for_a_text(maker, gold, dice) or gold
        if checker.check(gold) or (kind == "missing required" and not tool.required):
            continue
        damaged = damage(maker, gold, dice)
        if damaged is not None and damaged != gold:
            yield kind, gold, damaged


@dataclass
class Tally:
    """What became of the calls."""

    tools: int = 0
    kinds: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Of each kind: right, wrong, refused, or `fitted`: the schema admits it as it is."""
    seconds: list[float] = field(default_factory=list)
    wrong: list[JsonObject] = field(default_factory=list)

    def add(self, tool: PlainTool, seed: str) -> None:
        checker = Checker.compile(tool.schema)
        self.tools += 1
        for kind, gold, damaged in trials(tool, checker, seed):
            begun = time.perf_counter()
            became, made = outcome(tool, checker, gold, damaged)
            self.seconds.append(time.perf_counter() - begun)
            self.kinds[kind][became] += 1
            if became == "wrong":
                facts: JsonObject = {"gold": gold, "damaged": damaged, "made": made}
                self.wrong.append({"kind": kind, "tool": tool.name, **facts})


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--wrong", action="store_true", help="print each wrong repair")
    options = parser.parse_args()
    tally = Tally()
    for tool in plain_tools(options.folder):
        tally.add(tool, options.seed)
    if options.json:
        kinds = {kind: dict(count) for kind, count in tally.kinds.items()}
        print(json.dumps({"tools": tally.tools, "kinds": kinds, "wrong": tally.wrong}))
    else:
        report(tally)
        for each in tally.wrong if options.wrong else ():
            print(json.dumps(each, ensure_ascii=False))


def report(tally: Tally) -> None:
    print(f"{tally.tools} tools, {len(tally.seconds):,} damaged calls")
    for title, kinds in (("repairable", REPAIRABLE), ("must be refused", NOT_REPAIRABLE)):
        total: Counter[str] = Counter()
        print(f"\n{title:<36}{'n':>7}{'right':>8}{'wrong':>7}{'refused':>9}{'fitted':>8}")
        for kind in kinds:
            total += tally.kinds[kind]
            print(line(kind, tally.kinds[kind]))
        print(line("all", total))
    spent = sorted(tally.seconds)
    p50, p99 = spent[len(spent) // 2] * 1e3, spent[int(len(spent) * 0.99)] * 1e3
    print(f"\nms a call: p50 {p50:.3f}, p99 {p99:.3f}, most {spent[-1] * 1e3:.1f}")


def line(kind: str, count: Counter[str]) -> str:
    n = count.total() - count["fitted"]
    right, wrong, refused = (
        100 * count[each] / n if n else 0.0 for each in ("right", "wrong", "refused")
    )
    return f"{kind:<36}{n:>7}{right:>7.1f}%{wrong:>6.2f}%{refused:>8.1f}%{count['fitted']:>8}"


if __name__ == "__main__":
    main()
