"""Each entry of a foreign list is judged alone: used, mended and marked, or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from mcp_types.methods import serialize_server_result

from tests.protocol.json_strategies import json_values, schema_like
from toolcrib_protocol.foreign_tool import Adopted, Quarantined, judge
from toolcrib_protocol.input_repair import Repair
from toolcrib_protocol.schema import Checker, Dialect, publish, sample, signature

ODD = json.loads((Path(__file__).parents[1] / "fixtures" / "odd_tools.json").read_bytes())
USABLE = [case for case in ODD if case["verdict"] != "quarantined"]
MODERN = "2026-07-28"


def by_name(case: dict[str, Any]) -> str:
    return str(case["case"])


def adopted(entry: Any) -> Any:
    verdict = judge(entry)
    assert isinstance(verdict, Adopted), verdict
    return verdict


@pytest.mark.promise("field-o04-judged-alone")
@pytest.mark.parametrize("case", ODD, ids=by_name)
def test_every_odd_entry_gets_its_verdict_with_place_and_reason(case: Any) -> None:
    verdict = judge(case["entry"])
    if isinstance(verdict, Quarantined):
        found = ("quarantined", verdict.pointer, verdict.reason)
    else:
        pointers = " ".join(repair.pointer for repair in verdict.repairs)
        whats = " ".join(repair.what for repair in verdict.repairs)
        found = ("repaired" if verdict.repairs else "accepted", pointers, whats)
    assert found[0] == case["verdict"], verdict
    assert found[1] == case.get("at", "")
    assert case.get("says", "") in found[2]
    assert verdict.raw == case["entry"]


@pytest.mark.promise("schema-wire-valid")
@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25", MODERN])
@pytest.mark.parametrize("case", USABLE, ids=by_name)
def test_every_usable_entry_is_published_in_a_form_that_is_valid_on_the_wire(
    case: Any, version: Any
) -> None:
    tool = adopted(case["entry"])
    form = publish(tool.input_schema)
    shown = {"name": "t", "description": tool.description, "inputSchema": form.schema}
    output = tool.output_schema
    if output is not None and (version == MODERN or output.get("type") == "object"):
        shown["outputSchema"] = output
    result: dict[str, Any] = {"tools": [shown]}
    if version == MODERN:
        result |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
    sent = serialize_server_result("tools/list", version, result)
    assert sent["tools"][0]["inputSchema"] == form.schema


@pytest.mark.parametrize("case", USABLE, ids=by_name)
def test_every_usable_entry_has_a_stable_published_form_in_the_newest_dialect(case: Any) -> None:
    form: Any = publish(adopted(case["entry"]).input_schema)
    again: Any = publish(form.schema)
    assert Checker.compile(form.schema).dialect is Dialect.D2020_12
    assert (again.schema, again.notes, again.is_rewritten) == (form.schema, (), False)
    assert form.schema["type"] == "object"
    assert list(form.schema["properties"]) == list(again.schema["properties"])
    root_only = {"anyOf", "oneOf", "allOf", "not", "if", "then", "else", "enum", "const", "$ref"}
    assert not root_only & set(form.schema)


@pytest.mark.parametrize("case", USABLE, ids=by_name)
def test_every_usable_entry_has_a_valid_example(case: Any) -> None:
    tool = adopted(case["entry"])
    example = sample(tool.input_schema)
    assert example is not None
    assert Checker.compile(tool.input_schema).check(example) == ()


@pytest.mark.parametrize("case", USABLE, ids=by_name)
def test_every_usable_entry_has_a_signature_of_bounded_length(case: Any) -> None:
    tool = adopted(case["entry"])
    assert len(signature("t", publish(tool.input_schema).schema, tool.output_schema)) < 600


@pytest.mark.promise("field-o04-judged-alone")
def test_bad_entries_leave_their_siblings_alone() -> None:
    entries: list[Any] = [
        {"name": "good", "inputSchema": {"type": "object"}},
        {"name": "a", "inputSchema": {}},
        {"name": "b", "inputSchema": None},
        {"name": "c", "inputSchema": {"type": "string"}},
        {"inputSchema": {"type": "object"}},
    ]
    verdicts = [judge(entry) for entry in entries]
    assert [type(verdict) for verdict in verdicts] == [Adopted, *[Quarantined] * 4]
    assert [verdict.name for verdict in verdicts] == ["good", "a", "b", "c", None]


def test_what_is_not_declared_stays_unknown() -> None:
    tool = adopted({"name": "t", "inputSchema": {"type": "object"}})
    assert (tool.read_only, tool.destructive, tool.idempotent, tool.open_world) == (None,) * 4


def test_declared_facts_are_taken_over() -> None:
    icon = {"src": "https://example.com/a.png", "sizes": ["16x16"]}
    tool = adopted(
        {
            "name": "t",
            "inputSchema": {"type": "object"},
            "annotations": {
                "title": "Old place",
                "readOnlyHint": False,
                "destructiveHint": True,
                "idempotentHint": True,
                "openWorldHint": False,
            },
            "icons": [icon],
            "_meta": {"com.example/owner": "me"},
        }
    )
    assert (tool.read_only, tool.destructive, tool.idempotent, tool.open_world) == (
        False, True, True, False,
    )  # fmt: skip
    assert (tool.title, tool.icons, tool.meta) == (
        "Old place",
        (icon,),
        {"com.example/owner": "me"},
    )


def test_contradicting_hints_are_both_unknown() -> None:
    hints = {"readOnlyHint": True, "destructiveHint": True, "idempotentHint": True}
    tool = adopted({"name": "t", "inputSchema": {"type": "object"}, "annotations": hints})
    assert (tool.read_only, tool.destructive, tool.idempotent) == (None, None, True)


def test_required_marks_of_draft_3_become_lists_at_their_objects() -> None:
    case = next(case for case in ODD if case["case"] == "draft-03 required inside a property")
    schema = adopted(case["entry"]).input_schema
    assert schema["required"] == ["a"]
    assert schema["properties"]["c"]["items"]["required"] == ["d"]
    checker = Checker.compile(schema)
    assert checker.check({"a": "x", "c": [{"d": "y"}]}) == ()
    assert [fault.pointer for fault in checker.check({"a": "x", "c": [{}]})] == ["/c/0"]


def test_an_entry_nested_without_an_end_is_refused() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"properties": {"a": deep}}
    verdict = judge({"name": "t", "inputSchema": {"type": "object"} | deep})
    assert isinstance(verdict, Quarantined)
    assert (verdict.name, "deep" in verdict.reason) == ("t", True)


def test_a_description_without_an_end_is_refused() -> None:
    verdict = judge({"name": "t", "description": "x" * 100_001, "inputSchema": {"type": "object"}})
    assert isinstance(verdict, Quarantined)
    assert (verdict.pointer, "100,000" in verdict.reason) == ("/description", True)


def test_a_repair_reads_as_place_and_deed() -> None:
    assert str(Repair("/icons", "dropped")) == "/icons: dropped"


@given(json_values)
def test_no_json_value_makes_the_judge_raise(value: Any) -> None:
    assert isinstance(judge(value), Adopted | Quarantined)


@given(schema_like, schema_like)
def test_no_schema_makes_the_judge_raise(inputs: Any, outputs: Any) -> None:
    entry = {"name": "t", "inputSchema": inputs, "outputSchema": outputs}
    assert isinstance(judge(entry), Adopted | Quarantined)
