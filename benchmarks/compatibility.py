"""How contracts of real tools are compared: with themselves, and after the edits people make.

    python benchmarks/compatibility.py FOLDER_OF_JSON_FILES [--seed 1]

Prints what the comparison of each list with itself cost, and how often each kind of edit was called
what. `unknown` is what could not be decided.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.faults.dice import Dice
from toolcrib_protocol.compatibility import Change, Level, Side
from toolcrib_protocol.compatibility.schema_change import schema_reasons
from toolcrib_protocol.foreign_tool import Adopted, judge
from toolcrib_protocol.schema.places import nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Node = dict[str, Any]
    Edit = Callable[[Node, Dice], bool]


def schemas(folder: Path) -> Iterator[Node]:
    """The input schemas of all tools."""
    for path in sorted(folder.glob("*.json")):
        for raw in json.loads(path.read_bytes()).get("tools") or []:
            found = judge(raw)
            if isinstance(found, Adopted):
                yield found.input_schema


def _nodes(schema: Node) -> list[Node]:
    found: list[Any] = list(nodes(schema))
    return found


def _objects(schema: Node) -> list[Node]:
    return [node for node in _nodes(schema) if isinstance(node.get("properties"), dict)]


def _parts(schema: Node, *types: str) -> list[Node]:
    return [node for node in _nodes(schema) if not types or node.get("type") in types]


def add_optional(schema: Node, dice: Dice) -> bool:
    dice.pick(_objects(schema) or [{"properties": {}}])["properties"]["newcomer"] = {
        "type": dice.pick(("string", "integer", "boolean"))
    }
    return True


def add_required(schema: Node, dice: Dice) -> bool:
    node = dice.pick(_objects(schema) or [{"properties": {}}])
    node["properties"]["newcomer"] = {"type": "string"}
    node["required"] = [*(node.get("required") or ()), "newcomer"]
    return True


def drop_property(schema: Node, dice: Dice) -> bool:
    filled = [node for node in _objects(schema) if node["properties"]]
    if not filled:
        return False
    node = dice.pick(filled)
    name = dice.pick(sorted(node["properties"]))
    del node["properties"][name]
    node["required"] = [each for each in node.get("required") or () if each != name]
    return True


def require_more(schema: Node, dice: Dice) -> bool:
    for node in _objects(schema):
        optional = [n for n in node["properties"] if n not in (node.get("required") or ())]
        if optional:
            node["required"] = [*(node.get("required") or ()), dice.pick(optional)]
            return True
    return False


def require_less(schema: Node, dice: Dice) -> bool:
    able = [node for node in _objects(schema) if node.get("required")]
    if not able:
        return False
    node = dice.pick(able)
    node["required"] = node["required"][1:]
    return True


def change_type(schema: Node, dice: Dice) -> bool:
    able = _parts(schema, "string", "integer", "number", "boolean")
    if not able:
        return False
    node = dice.pick(able)
    kinds = [each for each in ("string", "integer", "boolean") if each != node["type"]]
    description = {"description": node["description"]} if "description" in node else {}
    node.clear()
    node |= {"type": dice.pick(kinds), **description}
    return True


def make_nullable(schema: Node, dice: Dice) -> bool:
    able = _parts(schema, "string", "integer", "number", "boolean", "array")
    if not able:
        return False
    node = dice.pick(able)
    plain = dict(node)
    node.clear()
    node |= {"anyOf": [plain, {"type": "null"}]} if dice.chance(0.5) else {
        **plain, "type": [plain["type"], "null"],
    }  # fmt: skip
    return True


def add_value(schema: Node, dice: Dice) -> bool:
    able = [node for node in _nodes(schema) if node.get("enum")]
    if not able:
        return False
    dice.pick(able)["enum"].append("newcomer")
    return True


def drop_value(schema: Node, dice: Dice) -> bool:
    able = [node for node in _nodes(schema) if len(node.get("enum") or ()) > 1]
    if not able:
        return False
    dice.pick(able)["enum"].pop()
    return True


def add_bound(schema: Node, dice: Dice) -> bool:
    able = _parts(schema, "string", "integer", "number", "array")
    if not able:
        return False
    node = dice.pick(able)
    bounds = {
        "string": {"minLength": 1},
        "integer": {"maximum": 2**53 - 1},
        "number": {"minimum": 0},
        "array": {"minItems": 1},
    }
    node |= bounds[node["type"]]
    return True


def close_object(schema: Node, dice: Dice) -> bool:
    able = [node for node in _objects(schema) if "additionalProperties" not in node]
    if not able:
        return False
    dice.pick(able)["additionalProperties"] = False
    return True


def reword(schema: Node, dice: Dice) -> bool:
    dice.pick(_nodes(schema))["description"] = "Said in other words."
    return True


def move_default(schema: Node, dice: Dice) -> bool:
    able = [node for node in _nodes(schema) if isinstance(node.get("default"), int | str)]
    if not able:
        return False
    node = dice.pick(able)
    node["default"] = f"{node['default']}0" if isinstance(node["default"], str) else 7
    return True


def add_pattern(schema: Node, dice: Dice) -> bool:
    able = _parts(schema, "string")
    if not able:
        return False
    dice.pick(able)["pattern"] = "^[a-z]+$"
    return True


def move_to_definitions(schema: Node, dice: Dice) -> bool:
    filled = [node for node in _objects(schema) if node["properties"]]
    if not filled:
        return False
    node = dice.pick(filled)
    name = dice.pick(sorted(node["properties"]))
    schema.setdefault("$defs", {})["Moved"] = node["properties"][name]
    node["properties"][name] = {"$ref": "#/$defs/Moved"}
    return True


EDITS: tuple[Edit, ...] = (
    add_optional, add_required, drop_property, require_more, require_less, change_type,
    make_nullable, add_value, drop_value, add_bound, close_object, reword, move_default,
    add_pattern, move_to_definitions,
)  # fmt: skip


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", default="1")
    options = parser.parse_args()
    everything = list(schemas(options.folder))
    begun = time.process_time()
    levels = Counter(level(old, copy.deepcopy(old)) for old in everything)
    spent = time.process_time() - begun
    print(f"{len(everything)} schemas with themselves: {dict(levels)}, {spent:.2f} s CPU")
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    slowest = 0.0
    for number, old in enumerate(everything):
        for edit in EDITS:
            dice, new = Dice(f"{options.seed} {number} {edit.__name__}"), copy.deepcopy(old)
            if edit(new, dice) and new != old:
                begun = time.process_time()
                counts[edit.__name__][level(old, new)] += 1
                slowest = max(slowest, time.process_time() - begun)
    report(counts)
    print(f"slowest comparison {slowest * 1e3:.0f} ms")


def level(old: Node, new: Node) -> str:
    return Change.of(schema_reasons(Side.INPUT, old, new)).level.value


def report(counts: dict[str, Counter[str]]) -> None:
    names = [each.value for each in Level]
    print(f"\n{'edit':<22}" + "".join(f"{name:>9}" for name in names))
    total: Counter[str] = Counter()
    for edit, count in counts.items():
        total += count
        print(f"{edit:<22}" + "".join(f"{count[name]:>9}" for name in names))
    print(f"{'all':<22}" + "".join(f"{total[name]:>9}" for name in names))
    print(f"unknown: {100 * total['unknown'] / total.total():.2f} % of {total.total():,}")


if __name__ == "__main__":
    main()
