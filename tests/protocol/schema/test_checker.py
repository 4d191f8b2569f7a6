"""The exact schema checks, with bounded work, without the network, and its faults teach."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from toolcrib_protocol.errors import INVALID_CONTRACT, ToolError
from toolcrib_protocol.schema import Checker, Dialect, Violation, explain


def of(**properties: Any) -> Checker:
    return Checker.compile({"type": "object", "properties": properties})


def nested(levels: int, leaf: Any) -> Any:
    value = leaf
    for _ in range(levels):
        value = {"c": value}
    return value


# Numbers


@pytest.mark.promise("field-o10-digits")
@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer"}, [9007199254740993, -(2**63), 10**30, 1.0], [1.5, True, "1"]),
        ({"maximum": 2**63 - 1}, [2**63 - 1], [2**63, 9.3e18]),
        ({"minimum": -(2**63)}, [-(2**63)], [-(2**63) - 1]),
        ({"minimum": 10**30}, [10**30, 1e30], [10**30 - 1]),
        ({"const": 9007199254740993}, [9007199254740993], [9007199254740992, 9007199254740992.0]),
        ({"enum": [1, 9007199254740993]}, [1.0, 9007199254740993], [9007199254740992]),
        ({"multipleOf": 2}, [10**30], [10**30 + 1, 9007199254740993]),
        ({"multipleOf": 0.01}, [19.99, 0.07], [0.005]),
        ({"uniqueItems": True}, [[9007199254740993, 9007199254740992], [1, True]], [[1, 1.0]]),
    ],
)
def test_numbers_are_compared_exactly(schema: Any, good: Any, bad: Any) -> None:
    checker = of(n=schema)
    assert [n for n in good if checker.check({"n": n})] == []
    assert [n for n in bad if not checker.check({"n": n})] == []


# Faults that teach


@pytest.mark.promise("schema-faults-teach")
@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        ({"type": "integer"}, "7", 'at /n: expected type integer, received "7"'),
        ({"type": ["integer", "null"]}, "7", 'at /n: expected type integer or null, received "7"'),
        ({"enum": ["a", "b"]}, "c", 'at /n: expected one of ["a","b"], received "c"'),
        ({"const": 3}, 4, "at /n: expected exactly 3, received 4"),
        (
            {"required": ["x"]},
            {"y": 1},
            "at /n: expected the required property 'x', received {\"y\":1}",
        ),
        (
            {"additionalProperties": False},
            {"y": 1},
            "at /n: expected nothing beyond what the schema describes, received 1",
        ),
        (
            {"additionalProperties": False, "properties": {"x": {}}},
            {"y": 1},
            "at /n: expected no property 'y', received {\"y\":1}",
        ),
        ({"minimum": 3}, 2, "at /n: expected at least 3, received 2"),
        (
            {"anyOf": [{"type": "integer"}, {"required": ["x"], "type": "object"}]},
            {},
            "at /n: expected one of the allowed forms (nearest form: /n type integer), received {}",
        ),
        ({"maxItems": 1}, [1, 2], "at /n: expected at most 1 items, received [1,2]"),
        ({"pattern": "^b"}, "a", 'at /n: expected text that matches ^b, received "a"'),
        (
            {"uniqueItems": True},
            [1, 1],
            "at /n: expected another value (it has non-unique elements), received [1,1]",
        ),
    ],
)
def test_a_fault_says_where_what_was_expected_and_what_came(
    schema: Any, value: Any, told: Any
) -> None:
    assert explain(of(n=schema).check({"n": value})) == told


def test_places_are_json_pointers() -> None:
    checker = Checker.compile(
        {"type": "object", "properties": {"a/b~c": {"items": {"type": "string"}}}}
    )
    assert [fault.pointer for fault in checker.check({"a/b~c": ["x", 1]})] == ["/a~1b~0c/1"]


def test_a_long_value_is_told_in_part() -> None:
    (fault,) = of(n={"type": "integer"}).check({"n": "x" * 500})
    assert len(fault.received) == 80
    assert fault.received.endswith("…")


def test_many_faults_are_counted_after_a_handful() -> None:
    faults = of(n={"items": {"type": "integer"}}).check({"n": ["x"] * 15})
    assert explain(faults).endswith("; and 9 more")
    assert len(of(n={"items": {"type": "integer"}}).check({"n": ["x"] * 100})) == 20


def test_a_violation_is_json_for_programs() -> None:
    fault = Violation("", "type object", "3")
    assert fault.as_json() == {"pointer": "", "expected": "type object", "received": "3"}
    assert str(fault) == "at the root: expected type object, received 3"


# Hostile schemas and values


@pytest.mark.promise("field-o11-hostile-schemas")
@pytest.mark.parametrize("pattern", ["^(x+x+)+y$", "^(?:(x+x+)+y)\\1$", "(?=(x+x+)+y\\1)"])
def test_a_pattern_that_backtracks_without_an_end_is_never_silently_valid(pattern: Any) -> None:
    checker = of(v={"type": "string", "pattern": pattern})
    # The plain Python library needs hours for this.
    assert [fault.pointer for fault in checker.check({"v": "x" * 40})] == ["/v"]


@pytest.mark.promise("field-o11-hostile-schemas")
def test_a_pattern_over_its_limit_is_a_fault_also_where_it_is_negated() -> None:
    checker = of(v={"not": {"pattern": "^(?:(x+x+)+y)\\1$"}})
    (fault,) = checker.check({"v": "x" * 40})
    assert fault.expected == "a value whose pattern can be checked within its limit"


@pytest.mark.promise("field-o11-hostile-schemas")
def test_no_reference_is_fetched_from_anywhere() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.05)
        uri = f"http://127.0.0.1:{listener.getsockname()[1]}/x"
        with pytest.raises(ToolError, match="never followed"):
            of(w={"$ref": uri})
        assert of(w={"default": {"$ref": uri}}).check({"w": 1}) == ()
        with pytest.raises(TimeoutError):
            listener.accept()


@pytest.mark.promise("field-o11-hostile-schemas")
@pytest.mark.parametrize("levels", [128, 3_000, 100_000])
def test_a_value_nested_too_deeply_is_refused_without_recursion(levels: Any) -> None:
    checker = Checker.compile({"type": "object", "properties": {"c": {"$ref": "#"}}})
    (fault,) = checker.check(nested(levels, {}))
    assert fault.expected == "at most 128 levels"
    assert checker.check(nested(127, {})) == ()


@pytest.mark.promise("field-o11-hostile-schemas")
def test_a_value_that_would_take_too_long_is_not_checked_and_that_is_said() -> None:
    forms: Any = [{"required": [f"k{i}"]} for i in range(10_000)]
    checker = of(v={"items": {"anyOf": forms}})
    (fault,) = checker.check({"v": [{}] * 2_500})
    assert fault.expected == "a value small enough to check"


@pytest.mark.promise("field-o11-hostile-schemas")
def test_faults_of_a_large_list_are_told_by_the_first() -> None:
    forms: Any = [{"type": "object", "required": [f"k{i}"]} for i in range(20)]
    checker = of(v={"items": {"anyOf": forms}})
    (fault,) = checker.check({"v": [{}] * 10_000})
    assert fault.pointer == "/v/0"


@pytest.mark.promise("field-o11-hostile-schemas")
def test_faults_deep_inside_a_recursive_choice_are_told_without_a_place() -> None:
    link: Any = {"$ref": "#/$defs/F"}
    forms: Any = [{"type": "object", "properties": {"c": link}, "required": [n]} for n in "xyc"]
    checker = Checker.compile(
        {"type": "object", "properties": {"c": link}, "$defs": {"F": {"anyOf": forms}}}
    )
    assert [fault.pointer for fault in checker.check(nested(3, "leaf"))] == ["/c"]
    (fault,) = checker.check(nested(100, "leaf"))
    assert (fault.pointer, "too many forms" in fault.expected) == ("", True)
    # What Python can hold and JSON cannot is told by its type.
    (fault,) = checker.check(nested(100, float("nan")))
    assert fault.received == "dict"


@pytest.mark.promise("field-o11-hostile-schemas")
def test_a_large_recursive_schema_gives_up_telling_places_early() -> None:
    part: Any = {"properties": {f"p{i}": {"$ref": "#"} for i in range(3_000)}, "type": "object"}
    (fault,) = Checker.compile(part).check(nested_by(100, "p1"))
    assert "too many forms" in fault.expected


def nested_by(levels: int, name: str) -> dict[str, Any]:
    value: dict[str, Any] = {name: 3}
    for _ in range(levels):
        value = {name: value}
    return value


@pytest.mark.parametrize("value", [{"a": "\ud83d"}, {1: 2}, {"a": object()}, {"a": b"x"}])
def test_what_is_not_json_is_a_fault(value: Any) -> None:
    (fault,) = of(a={"type": "integer"}).check(value)
    assert fault.expected == "a JSON value"


def test_one_checker_serves_many_threads() -> None:
    checker = of(n={"type": "integer"})
    wrong: list[int] = []

    def work() -> None:
        wrong.extend(
            i for i in range(200) if checker.check({"n": i}) or not checker.check({"n": "x"})
        )

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert wrong == []


# Dialects


@pytest.mark.promise("field-o08-old-dialects")
@pytest.mark.parametrize(
    ("schema", "dialect", "good", "bad"),
    [
        ({"properties": {"s": {"minimum": 0, "exclusiveMinimum": True}}}, Dialect.D4, 1, 0),
        ({"properties": {"s": {"items": [{"type": "string"}]}}}, Dialect.D2019_09, ["a"], [1]),
        (
            {"properties": {"s": {"prefixItems": [{"type": "string"}]}}},
            Dialect.D2020_12,
            ["a"],
            [1],
        ),
        (
            {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "properties": {"s": {"maximum": 3, "exclusiveMaximum": True}},
            },
            Dialect.D4,
            2,
            3,
        ),
        (
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "properties": {"s": {"const": 1}},
            },
            Dialect.D7,
            1,
            2,
        ),
        (
            {
                "$schema": "http://json-schema.org/draft-06/schema",
                "properties": {"s": {"const": 1}},
            },
            Dialect.D6,
            1,
            2,
        ),
        (
            {"$schema": "https://example.com/mine", "properties": {"s": {"const": 1}}},
            Dialect.D2020_12,
            1,
            2,
        ),
        ({"$schema": 7, "properties": {"s": {"const": 1}}}, Dialect.D2020_12, 1, 2),
    ],
)
def test_the_dialect_is_the_declared_one_or_the_first_that_fits(
    schema: Any, dialect: Any, good: Any, bad: Any
) -> None:
    checker = Checker.compile({"type": "object", **schema})
    assert checker.dialect is dialect
    assert checker.check({"s": good}) == ()
    assert checker.check({"s": bad}) != ()


@pytest.mark.promise("field-o08-old-dialects")
def test_a_schema_that_fits_no_dialect_is_refused_with_the_place() -> None:
    with pytest.raises(ToolError, match="/properties/a/type") as refusal:
        of(a={"type": "strin"})
    assert refusal.value.code == INVALID_CONTRACT


@pytest.mark.promise("field-o08-old-dialects")
@pytest.mark.parametrize(
    "dialect",
    ["http://json-schema.org/draft-04/schema#", "https://json-schema.org/draft/2020-12/schema"],
)
def test_what_only_a_reference_reaches_is_held_to_the_dialect_too(dialect: str) -> None:
    def compiled(part: Any, **more: Any) -> Checker:
        parts = {"a": {"$ref": "#/components/b"}, "b": part, "c": part}
        return Checker.compile(
            {
                "$schema": dialect,
                "type": "object",
                "properties": {"a": {"$ref": "#/components/a"}},
                "components": parts,
                **more,
            }
        )

    assert compiled({"type": "string"}).check({"a": 1}) != ()
    assert compiled({"type": "string"}, definitions={"x": {}}).check({"a": "x"}) == ()
    for fault in ({"items": 7}, {"title": 7}, {"multipleOf": 0}):
        with pytest.raises(ToolError, match="not a valid JSON Schema"):
            compiled(fault)


def test_a_schema_whose_own_address_is_none_is_refused() -> None:
    with pytest.raises(ToolError, match="not a valid JSON Schema"):
        Checker.compile({"type": "object", "$id": "http://[", "id": "http://["})


# Combinators and references keep their force


@pytest.mark.promise("field-o05-exact-check")
def test_a_combinator_at_the_root_is_checked_exactly() -> None:
    checker = Checker.compile(
        {
            "type": "object",
            "anyOf": [
                {"properties": {"url": {"type": "string"}}, "required": ["url"]},
                {"properties": {"text": {"type": "string"}}, "required": ["text"]},
            ],
        }
    )
    assert checker.check({"url": "u"}) == ()
    assert "the required property 'url'" in explain(checker.check({}))


@pytest.mark.promise("field-o07-no-properties")
def test_a_schema_without_properties_takes_any_arguments() -> None:
    assert Checker.compile({"type": "object"}).check({"a": None}) == ()


@pytest.mark.promise("field-o11-hostile-schemas")
def test_a_checked_schema_takes_part_of_a_thread_stack_only() -> None:
    """The worst nesting that is let through, in a thread: an overflow would end the process."""
    rules: dict[str, Any] = {"properties": {"c": {"$ref": "#/$defs/r0"}}, "maxProperties": 1}
    chain: dict[str, Any] = {f"r{i}": {"allOf": [{"$ref": f"#/$defs/r{i + 1}"}]} for i in range(48)}
    checker = Checker.compile(
        {"type": "object", "$ref": "#/$defs/r0", "$defs": {**chain, "r48": rules}}
    )
    told: list[int] = []

    def work() -> None:
        told.append(len(checker.check(nested(127, {}))))
        told.append(len(checker.check(nested(126, {"a": 1, "b": 2}))))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert told == [0, 1]
