"""Arguments that a model got almost right, and those that only look like it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from tests.registry.cribs import desk, raw_tool
from toolcrib_protocol.call_rules import RuleScope
from toolcrib_protocol.errors import INVALID_ARGUMENTS
from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.result import REPAIRS_META
from toolcrib_protocol.schema import Checker
from toolcrib_registry.call import Call
from toolcrib_registry.call_rules import set_rules
from toolcrib_registry.repair import repair

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.repair import Repaired

TEXT: JsonObject = {"type": "string"}
WHOLE: JsonObject = {"type": "integer"}
TEXTS: JsonObject = {"type": "array", "items": {"type": "string"}}
TRIP: JsonObject = {
    "type": "object",
    "$defs": {"place": {"type": "object", "properties": {"zipCode": TEXT, "floor": WHOLE}}},
    "properties": {
        "city": TEXT,
        "nights": WHOLE,
        "max_price": {"type": "number"},
        "with_breakfast": {"type": "boolean"},
        "guests": TEXTS,
        "sort_order": {"enum": ["price_low", "price_high", "rating"]},
        "place": {"$ref": "#/$defs/place"},
        "note": {"anyOf": [TEXT, {"type": "null"}]},
        "distance_km": {"type": "number", "description": "How far it may be."},
        "currency": {"type": "string", "default": "EUR"},
        "stars": {"type": "integer", "maximum": 5},
        "code": {"enum": ["EUR", "USD", "AUD", "on", "off"]},
        "rooms": {"type": "array", "items": WHOLE, "minItems": 1},
    },
    "required": ["city", "currency"],
}
APOSTROPHE: JsonObject = {"city": "Pa'ris", "currency": "USD"}
OSLO: JsonObject = {"city": "Oslo", "currency": "NOK", "place": {"floor": 1}}
GOLD: JsonObject = {"city": "Paris", "nights": 3, "currency": "USD"}


NUMBERS = itertools.count()


def count(_: object) -> str:
    """A name for a case whose content would be a bad one."""
    return str(next(NUMBERS))


def mended(
    given: Json, schema: JsonObject = TRIP, *, refuses_unknown: bool = True, **more: Any
) -> Repaired | None:
    """What `given` is repaired to; what fits must not get here."""
    checker = Checker.compile(schema)
    return repair(
        given, schema, checker, refuses_unknown=refuses_unknown, names=("travel/book",), **more
    )


def of(**values: Json) -> JsonObject:
    return {**GOLD, **values}


@pytest.mark.promise("repair-kinds")
@pytest.mark.parametrize(
    ("given", "meant"),
    [
        # Types.
        (of(nights="3"), of(nights=3)),
        (of(nights="-3"), of(nights=-3)),
        (of(nights="3.0"), of(nights=3)),
        (of(nights="1,000"), of(nights=1000)),
        (of(max_price="1,000.5"), of(max_price=1000.5)),
        (of(max_price="+2.5"), of(max_price=2.5)),
        (of(nights="99999999999999999999"), of(nights=99999999999999999999)),
        (of(with_breakfast="yes"), of(with_breakfast=True)),
        (of(with_breakfast="False"), of(with_breakfast=False)),
        (of(city=75001), of(city="75001")),
        (of(note=1.5), of(note="1.5")),
        (of(guests="Ana"), of(guests=["Ana"])),
        (of(guests=5), of(guests=["5"])),
        (of(city=["Paris"]), of(city="Paris")),
        (of(guests='["Ana","Bo"]'), of(guests=["Ana", "Bo"])),
        (of(guests="['Ana', 'Bo',]"), of(guests=["Ana", "Bo"])),
        (of(place='{"floor": 2}'), of(place={"floor": 2})),
        (of(place='{"floor": "2"}'), of(place={"floor": 2})),
        (of(distance_km="5 km"), of(distance_km=5)),
        # Names.
        ({"City": "Paris", "NIGHTS": 3, "currency": "USD"}, GOLD),
        (of(maxPrice=2), of(max_price=2)),
        ({"ctiy": "Paris", "nights": 3, "currency": "USD"}, GOLD),
        (of(with_brekfast=True), of(with_breakfast=True)),
        (of(place={"zip_code": "1"}), of(place={"zipCode": "1"})),
        # Too much, too little.
        (of(reasoning="because"), GOLD),
        (of(nights=None), {"city": "Paris", "currency": "USD"}),
        ({"city": "Paris"}, {"city": "Paris", "currency": "EUR"}),
        # Listed values.
        (of(sort_order="Price Low"), of(sort_order="price_low")),
        (of(sort_order="rateing"), of(sort_order="rating")),
        (of(sort_order="ating"), of(sort_order="rating")),
        # Wrapped.
        ({"arguments": GOLD}, GOLD),
        ({"name": "travel.book", "parameters": GOLD}, GOLD),
        ({"input": dump_json(GOLD)}, GOLD),
        ([GOLD], GOLD),
        (dump_json(GOLD), GOLD),
        (f"```json\n{dump_json(GOLD)}\n```", GOLD),
        ("{'city': 'Pa\\'ris', \"nights\": None, 'currency': 'USD',}", APOSTROPHE),
        ('{"city": "Oslo", "currency": "NOK", "place": {"floor": 1}', OSLO),
    ],
    ids=count,
)  # fmt: skip
def test_what_can_be_meant_in_one_way_only_is_taken_so(given: Json, meant: JsonObject) -> None:
    found = mended(given)
    assert found is not None
    assert found.values == meant
    assert not Checker.compile(TRIP).check(found.values)


@pytest.mark.promise("repair-refuses")
@pytest.mark.parametrize(
    "given",
    [
        {"nights": 3},
        of(dry_run=True),
        of(filter="id=3"),
        of(City="Rome"),
        of(reasoning={"not": "prose"}),
        of(code="UAD"),
        of(code="SUD"),
        of(code="ofn"),
        {"town": "Paris", "currency": "USD"},
        of(sort_order="cheapest"),
        of(sort_order="price"),
        of(nights="three"),
        of(nights="3.5"),
        of(nights="007"),
        of(nights="5 nights or so"),
        of(max_price="0.12345678901234567890123"),
        of(max_price="1,00"),
        of(distance_km="5 miles"),
        of(distance_km="5 km or miles"),
        of(with_breakfast="maybe"),
        of(with_breakfast=1),
        of(guests="Ana, Bo"),
        of(guests="[Ana"),
        of(city=["Paris", "Rome"]),
        of(city={"name": "Paris"}),
        of(comment="text that `note` could take"),
        of(City="Rome", city=3.5, CITY="Oslo"),
        {"cityy": "Paris", "ciity": "Rome", "currency": "USD"},
        of(nights="1e999"),
        of(stars="7"),
        of(with_brekfast={"at": 8}),
        of(rooms=[]),
        {"arguments": {"args": {"params": {"input": {"kwargs": GOLD}}}}},
        {"name": "travel/cancel", "arguments": GOLD},
        {"arguments": GOLD, "params": GOLD},
        {"arguments": 5},
        {"name": 7, "arguments": GOLD},
        {"arguments": GOLD, "Arguments": GOLD},
        "Paris",
        "{",
        "{'city': 'Paris', 'currency': 'US",
        '{"city": "Paris", "currency": {"a": [1',
        '{"city": "Paris" "currency": "USD"}',
        '{"city": "Paris"; "currency": "USD"}',
        '{"city": "Paris", "city": "Rome", "x": 1,}',
        "{city: 'Paris', currency: 'USD'}",
        "{'city': Paris, 'currency': 'USD'}",
        "{'city': 'Par\\qis', 'currency': 'USD'}",
        "{'city': 'Paris', 'currency': 'USD'} and more",
        [GOLD, GOLD],
        5,
        "[" * 70 + "1,",
        of(place="[" + "[" * 80),
    ],
    ids=count,
)
def test_what_could_be_meant_in_several_ways_or_in_none_is_refused(given: Json) -> None:
    assert mended(given) is None


def test_values_that_fit_are_never_touched() -> None:
    found = mended(of(note="5", city="007", guests=["1,000"], maxPrice="3"))
    assert found is not None
    assert found.values == of(note="5", city="007", guests=["1,000"], max_price=3)
    assert [str(each) for each in found.repairs] == [
        "/max_price: it was given as 'maxPrice', another spelling of it",
        "/max_price: read as the number in the text, 3",
    ]
    assert found.is_certain


def test_the_callers_own_value_stays_as_it_was() -> None:
    given = of(place={"Floor": "2"})
    assert mended(given) is not None
    assert given == of(place={"Floor": "2"})


@pytest.mark.parametrize(
    ("names", "given"),
    [
        (["active"], "inactive"),
        (["created_by", "creates_by"], "create_by"),
        (["async"], "sync"),
        (["descending"], "ascending"),
        (["source_id"], "source_ip"),
        (["address1"], "address2"),
        (["start_at"], "start_at_utc_offset"),
        (["color_a", "color_b"], "color_c"),
        (["x" * 101], "x" * 102),
        (["abcdprice"], "priceabcd"),
    ],
)
def test_another_word_is_not_taken_for_a_misspelling(names: list[str], given: str) -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "additionalProperties": False,
    }
    assert mended({given: "x"}, schema) is None


def test_lists_and_choices_are_looked_into() -> None:
    count: JsonObject = {"kind": {"const": "a"}, "count": WHOLE}
    label: JsonObject = {"kind": {"const": "b"}, "label": TEXT}
    forms: Json = [
        {"type": "object", "properties": count, "required": ["kind"]},
        {"type": "object", "properties": label, "required": ["kind", "label"]},
    ]
    pair: JsonObject = {"prefixItems": [WHOLE, {"type": "boolean"}], "items": TEXT}
    rows: JsonObject = {"type": "array", "items": {"oneOf": forms}}
    schema: JsonObject = {
        "type": "object",
        "allOf": [{"properties": {"rows": rows}}, {"properties": {"pair": pair}}],
    }
    given: JsonObject = {
        "rows": [{"kind": "a", "count": "1"}, {"kind": "b", "label": 7}],
        "pair": ["1", "true", 3],
    }
    found = mended(given, schema)
    assert found is not None
    assert found.values == {
        "rows": [{"kind": "a", "count": 1}, {"kind": "b", "label": "7"}],
        "pair": [1, True, "3"],
    }


def test_an_older_list_of_items_by_position_is_understood() -> None:
    schema: JsonObject = {
        "type": "object",
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"pair": {"type": "array", "items": [WHOLE]}},
    }
    found = mended({"pair": ["1", "2"]}, schema)
    assert found is not None
    assert found.values == {"pair": [1, "2"]}


def test_text_in_text_is_read_a_few_levels_deep() -> None:
    node: JsonObject = {
        "type": "object",
        "properties": {"in": {"$ref": "#/$defs/node"}, "n": WHOLE},
    }
    schema: JsonObject = {"$defs": {"node": node}, **node}
    assert mended(nested_text(3), schema) is not None
    assert mended(nested_text(9), schema) is None


def nested_text(levels: int) -> JsonObject:
    value: JsonObject = {"n": 1}
    for _ in range(levels):
        value = {"in": dump_json(value)}
    return value


def test_null_is_read_where_text_stands_for_it() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"size": {"type": ["integer", "null"]}, "open": {"properties": {}}},
    }
    found = mended({"size": "None"}, schema)
    assert found is not None
    assert found.values == {"size": None}


def test_an_object_that_takes_any_name_keeps_them_all() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"labels": {"type": "object", "additionalProperties": WHOLE}},
    }
    found = mended({"labels": {"reasoning": "1", "b": "2"}}, schema)
    assert found is not None
    assert found.values == {"labels": {"reasoning": 1, "b": 2}}


def test_unknown_names_stay_where_they_are_let_through() -> None:
    given = of(reasoning="x", maxPrice=1)
    found = mended(given, refuses_unknown=False)
    assert found is not None
    assert found.values == of(reasoning="x", max_price=1)


def test_what_the_operator_has_set_is_not_left_out_silently() -> None:
    assert mended(of(reasoning="x"), untouchable=("Reasoning",)) is None


def test_a_default_that_branches_disagree_about_is_none() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"a": {"allOf": [{"default": 1}, {"default": 2}]}, "b": {"enum": ["x"]}},
        "required": ["a", "b"],
    }
    assert mended({}, schema) is None
    found = mended({"a": 1}, schema)
    assert found is not None
    assert found.values == {"a": 1, "b": "x"}


def test_a_long_default_is_shown_by_its_beginning() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"a": {"default": "x" * 200}},
        "required": ["a"],
    }
    found = mended({}, schema)
    assert found is not None
    assert len(str(found.repairs[0])) < 120


def test_a_place_beyond_the_known_ones_is_nothing_special() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"deep": {"type": "object", "properties": {"a": {"enum": ["one", "two"]}}}},
    }
    assert mended({"deep": {"b": ["x"], "a": "three"}}, schema, refuses_unknown=False) is None


def test_very_large_or_deep_arguments_are_not_walked() -> None:
    assert mended(of(guests=[1] * 6_000)) is None
    deep: Json = 1
    for _ in range(50):
        deep = [deep]
    assert mended(of(guests=deep)) is None


def test_a_hostile_schema_is_read_with_bounded_work() -> None:
    forms: JsonObject = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 3} for n in range(3)}
    schema: JsonObject = {
        "type": "object",
        "$defs": {**forms, "d3": {"anyOf": [{**WHOLE, "title": str(n)} for n in range(90)]}},
        "properties": {"a": {"$ref": "#/$defs/d0"}},
    }
    assert mended({"a": "x"}, schema) is None


def test_escapes_of_careless_json_are_read() -> None:
    found = mended("{'city': '\\ud83d\\ude00\\n', 'currency': \"a\\\"b\",}")
    assert found is not None
    assert found.values == {"city": "\U0001f600\n", "currency": 'a"b'}


@pytest.mark.promise("repair-recorded")
async def test_a_repaired_call_says_what_was_repaired() -> None:
    calls, provider, _ = await desk(raw_tool("walk", {"path": TEXT, "steps": WHOLE}))
    result = await calls.call(Call("desk/walk", {"Path": "/a", "steps": "3"}))
    assert provider.called == [("walk", {"path": "/a", "steps": 3})]
    assert result.meta[REPAIRS_META] == [
        "/path: it was given as 'Path', another spelling of it",
        "/steps: read as the number in the text, 3",
    ]
    untouched = await calls.call(Call("desk/walk", {"path": "/a"}))
    assert REPAIRS_META not in untouched.meta


@pytest.mark.promise("repair-modes")
@pytest.mark.parametrize(
    ("mode", "given", "is_sent"),
    [
        ("repair", {"pathh": "/a"}, True),
        ("strict", {"pathh": "/a"}, False),
        ("strict", {"PATH": "/a", "steps": "3"}, True),
        ("off", {"path": "/a", "steps": "3"}, False),
        ("off", {"path": "/a", "steps": None}, False),
    ],
)
async def test_the_operator_says_how_much_is_repaired(
    mode: str, given: JsonObject, is_sent: bool
) -> None:
    calls, provider, catalogue = await desk(raw_tool("walk", {"path": TEXT, "steps": WHOLE}))
    scope = RuleScope.parse("group:desk")
    await catalogue.change(lambda snapshot: set_rules(snapshot, scope, {"repair": mode}))
    result = await calls.call(Call("desk/walk", given))
    assert result.is_error is not is_sent
    assert bool(provider.called) is is_sent


@pytest.mark.promise("repair-destructive")
async def test_a_destructive_call_is_not_made_with_guesses_but_told_what_would_fit() -> None:
    entry = raw_tool(
        "wipe", {"path": TEXT, "count": WHOLE}, {"annotations": {"destructiveHint": True}}
    )
    calls, provider, _ = await desk(entry)
    result = await calls.call(Call("desk/wipe", {"path": "/a", "count": "1,000"}))
    assert result.error is not None
    assert result.error.code == INVALID_ARGUMENTS
    assert result.error.details["proposal"] == {"path": "/a", "count": 1000}
    assert 'call again with {"path":"/a","count":1000}' in result.text
    assert provider.called == []
    await calls.call(Call("desk/wipe", {"path": "/a", "count": "1000"}))
    assert provider.called == [("wipe", {"path": "/a", "count": 1000})]


@pytest.mark.promise("repair-doubtful")
@pytest.mark.parametrize(
    ("is_read_only", "given", "sent"),
    [
        (True, "1,000", 1000),
        (False, "1,000", None),
        (False, "1,000,000", 1000000),
        (False, "1,000.5", 1000.5),
    ],
)
async def test_a_number_that_is_another_one_elsewhere_is_not_sent_where_it_may_do_harm(
    is_read_only: bool, given: str, sent: float | None
) -> None:
    hints: JsonObject = {"annotations": {"readOnlyHint": is_read_only, "destructiveHint": False}}
    calls, provider, _ = await desk(raw_tool("pay", {"amount": {"type": "number"}}, hints))
    result = await calls.call(Call("desk/pay", {"amount": given}))
    assert [arguments for _, arguments in provider.called] == (
        [] if sent is None else [{"amount": sent}]
    )
    assert result.is_error is (sent is None)


@pytest.mark.promise("field-o09-text")
@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"tags": '["a"]', "body": "[1]", "n": "5"}, {"tags": ["a"], "body": "[1]", "n": 5}),
        ('{"tags":[],"body":""}', {"tags": [], "body": ""}),
        ({"name": "desk__post", "arguments": {"tags": [], "body": "x"}}, {"tags": [], "body": "x"}),
        ({"tags": "not json, but", "body": "x"}, None),
        ({"arguments": {}}, None),
        ({"name": "desk__other", "arguments": {"tags": [], "body": "x"}}, None),
    ],
)
async def test_arguments_as_text_or_wrapped_once_more_are_understood(
    given: Json, sent: JsonObject | None
) -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"tags": TEXTS, "body": TEXT, "n": WHOLE},
        "required": ["tags", "body"],
    }
    calls, provider, _ = await desk(raw_tool("post", None, {"inputSchema": schema}))
    result = await calls.call(Call("desk/post", given))
    if sent is None:
        assert result.error is not None
        assert result.error.code == INVALID_ARGUMENTS
        assert "/" in result.text
        assert provider.called == []
    else:
        assert provider.called == [("post", sent)]
