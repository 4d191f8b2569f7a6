"""A Python function becomes a contract, and its values travel as JSON."""

# No `from __future__ import annotations`: classes inside tests are hints, read at run time.

import datetime
import enum
import functools
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import pytest
from pydantic import AfterValidator, BaseModel, Field
from typing_extensions import TypedDict

from toolcrib_protocol.content import text_block
from toolcrib_protocol.errors import (
    INVALID_ARGUMENTS,
    INVALID_CONTRACT,
    TOOL_FAILED,
    ErrorKind,
    ToolError,
)
from toolcrib_protocol.function_tool import FunctionTool, contract_of, is_tool, tool
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.result import Result
from toolcrib_protocol.tool import DeclaredError, Example
from toolcrib_protocol.version import Version

if TYPE_CHECKING:
    from nowhere import Unimportable  # type: ignore[import-not-found]


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Size:
    width: int
    height: int = 2


class Item(BaseModel):
    name: str
    price: Decimal


class Row(TypedDict):
    count: int


class Tree(BaseModel):
    children: list["Tree"] = []


def schema_of(function: Callable[..., object]) -> Any:
    return contract_of(function).input_schema


def output_of(function: Callable[..., object]) -> Any:
    return contract_of(function).output_schema


def answer(function: Callable[..., object], **given: Any) -> Result:
    ready = FunctionTool(function, "local")
    return ready.schema.result(ready.function(**ready.schema.arguments(given)))


# --- the decorator ------------------------------------------------------------------------------


@pytest.mark.promise("python-function-stays-callable")
def test_a_marked_function_stays_callable_as_it_is() -> None:
    @tool
    def double(number: int) -> int:
        return number * 2

    @tool(version="1.2.0")
    async def later(number: int) -> int:
        return number * 2

    assert double(4) == 8
    assert is_tool(double)
    assert is_tool(later)
    assert not FunctionTool(double, "x").is_async
    assert FunctionTool(later, "x").is_async


def test_only_marked_functions_are_tools() -> None:
    assert not any(is_tool(value) for value in (schema_of, len, Colour, 3, functools.partial(len)))


def test_everything_that_is_declared_is_in_the_contract() -> None:
    @tool(
        group="shop",
        version="2.1.0",
        name="find-items",
        title="Find items",
        when_to_use="to look something up",
        when_not_to_use="to buy",
        read_only=True,
        destructive=False,
        idempotent=True,
        open_world=False,
        tags=["shop", "search"],
        examples=[
            Example(request="red shoes", arguments={"text": "red shoes"}),
            {"request": "hats", "arguments": {"text": "hats"}, "result": ["hat"]},
        ],
        errors={"closed": "the shop is closed"},
        timeout_seconds=2.5,
    )
    def find(text: str) -> list[str]:
        """Finds items by their name."""
        return [text]

    contract = contract_of(find)
    assert contract.id == ToolId("shop", "find-items")
    assert contract.version == Version(2, 1, 0)
    assert contract.declares_version
    assert contract.title == "Find items"
    assert contract.description == "Finds items by their name."
    assert (contract.when_to_use, contract.when_not_to_use) == ("to look something up", "to buy")
    behaviour = contract.behaviour
    assert (behaviour.read_only, behaviour.destructive) == (True, False)
    assert (behaviour.idempotent, behaviour.open_world) == (True, False)
    assert contract.tags == ("shop", "search")
    assert [example.request for example in contract.examples] == ["red shoes", "hats"]
    assert contract.errors == (DeclaredError(code="closed", message="the shop is closed"),)
    assert contract.limits.timeout_seconds == 2.5


def test_what_is_not_declared_stays_unknown() -> None:
    @tool
    def plain() -> None: ...

    contract = contract_of(plain, "desk")
    assert contract.as_json() == {
        "group": "desk",
        "name": "plain",
        "input_schema": {"type": "object", "properties": {}, "additionalProperties": False},
    }
    assert not contract.declares_version


def test_an_option_that_does_not_exist_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match=r"does not know readonly; it knows .*read_only"):
        tool(readonly=True)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("declaration", "words"),
    [
        ({"version": "2"}, r"'f': version: .*MAJOR\.MINOR\.PATCH"),
        ({"group": "my group"}, "group"),
        ({"timeout_seconds": -1}, "limits/timeout_seconds"),
        ({"examples": [{"question": "x"}]}, "examples/0/question"),
    ],
)
def test_a_declaration_that_cannot_be_used_is_refused_with_its_place(
    declaration: Any, words: str
) -> None:
    @tool(**declaration)
    def f() -> None: ...

    with pytest.raises(ToolError, match=words) as caught:
        contract_of(f)
    assert caught.value.code == INVALID_CONTRACT


# --- input --------------------------------------------------------------------------------------


@pytest.mark.promise("python-function-contract")
def test_hints_defaults_and_docstring_make_the_input_schema() -> None:
    def order(  # type: ignore[no-untyped-def]
        item: str,
        size: Literal["s", "m"],
        *,
        count: Annotated[int, Field(ge=1, le=9, description="how many")] = 1,
        colour: Colour = Colour.RED,
        note: Optional[str] = None,  # noqa: UP045 - users write both forms
        anything=None,
    ) -> None:
        """Orders.

        Args:
            item: what to order
            count: the hint's own description wins
            anything: whatever
        """

    assert schema_of(order) == {
        "type": "object",
        "properties": {
            "item": {"type": "string", "description": "what to order"},
            "size": {"type": "string", "enum": ["s", "m"]},
            "count": {
                "type": "integer",
                "minimum": 1,
                "maximum": 9,
                "default": 1,
                "description": "how many",
            },
            "colour": {"$ref": "#/$defs/Colour", "default": "red"},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            "anything": {"default": None, "description": "whatever"},
        },
        "required": ["item", "size"],
        "additionalProperties": False,
        "$defs": {"Colour": {"type": "string", "enum": ["red", "blue"], "title": "Colour"}},
    }


def test_arguments_arrive_in_the_hinted_types() -> None:
    seen: dict[str, object] = {}

    def take(
        *,
        colour: Colour,
        size: Size,
        item: Item,
        row: Row,
        day: datetime.date,
        numbers: set[int],
        schema: int,
        _hidden: bool = False,
    ) -> None:
        seen.update(locals())

    answer(
        take,
        colour="blue",
        size={"width": 3},
        item={"name": "hat", "price": "9.90"},
        row={"count": 1},
        day="2027-01-31",
        numbers=[1, 1],
        schema=2**70,
        _hidden=True,
    )
    seen.pop("seen")
    assert seen == {
        "colour": Colour.BLUE,
        "size": Size(3, 2),
        "item": Item(name="hat", price=Decimal("9.90")),
        "row": {"count": 1},
        "day": datetime.date(2027, 1, 31),
        "numbers": {1},
        "schema": 2**70,
        "_hidden": True,
    }


def test_what_is_not_given_is_left_to_the_functions_own_default() -> None:
    marker = object()

    def own(value: Any = marker) -> None:
        assert value is marker

    def fields(
        value: int = Field(default=3, description="a number"),
        made: list[int] = Field(default_factory=lambda: [1]),  # noqa: B008 - as users write it
    ) -> list[int]:
        return [value, *made]

    answer(own)
    assert answer(fields).data == {"result": [3, 1]}
    assert answer(fields, value=5).data == {"result": [5, 1]}
    assert schema_of(fields)["properties"]["value"] == {
        "type": "integer",
        "default": 3,
        "description": "a number",
    }


def test_hints_written_as_text_are_understood() -> None:
    def f(size: "Size") -> "int":
        return size.width

    assert answer(f, size={"width": 4}).data == {"result": 4}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"even": 3}, "/even: Value error, 3 is odd"),
        ({}, "/even: Field required"),
        ({"even": "x"}, "/even"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_with_their_place(
    given: dict[str, Any], words: str
) -> None:
    def even_only(number: int) -> int:
        if number % 2:
            raise ValueError(f"{number} is odd")
        return number

    def f(even: Annotated[int, AfterValidator(even_only)]) -> None: ...

    with pytest.raises(ToolError, match=words) as caught:
        answer(f, **given)
    assert caught.value.code == INVALID_ARGUMENTS


class Opaque: ...


def variadic(*words: str) -> None: ...
def keywords(**words: str) -> None: ...
def positional(word: str, /) -> None: ...
def opaque(thing: Opaque) -> None: ...
def callback(thing: Callable[[], int]) -> None: ...
def unimportable(thing: "Unimportable") -> None: ...
def yields(word: str) -> Iterator[str]:
    yield word


async def yields_later(word: str) -> AsyncIterator[str]:
    yield word


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (variadic, r"\*words has no schema"),
        (keywords, r"\*words has no schema"),
        (positional, "'word' is positional only"),
        (opaque, "no JSON Schema.*Opaque"),
        (callback, "no JSON Schema"),
        (unimportable, "cannot be read at run time.*Unimportable"),
        (yields, "it yields"),
        (yields_later, "it yields"),
    ],
)
def test_a_function_that_cannot_become_a_tool_is_refused_with_the_reason(
    function: Callable[..., object], words: str
) -> None:
    with pytest.raises(ToolError, match=words) as caught:
        contract_of(function)
    assert caught.value.code == INVALID_CONTRACT
    assert repr(function.__name__) in caught.value.message


# --- output -------------------------------------------------------------------------------------


def test_an_object_is_structured_content_as_it_is_and_everything_else_is_wrapped() -> None:
    def item() -> Item:
        return Item(name="hat", price=Decimal("9.90"))

    def number() -> int:
        return 2**70

    def items() -> list[Item]:
        return [item()]

    assert output_of(item)["properties"]["name"] == {"type": "string"}
    assert answer(item).data == {"name": "hat", "price": "9.90"}
    assert answer(item).content == (text_block('{"name":"hat","price":"9.90"}'),)
    assert output_of(number) == {
        "type": "object",
        "properties": {"result": {"type": "integer"}},
        "required": ["result"],
    }
    assert answer(number).data == {"result": 1180591620717411303424}
    assert answer(number).text == "1180591620717411303424"
    assert set(output_of(items)["$defs"]) == {"Item"}
    assert answer(items).data == {"result": [{"name": "hat", "price": "9.90"}]}


def test_a_recursive_model_has_an_object_at_the_root_of_its_schema() -> None:
    def tree() -> Tree:
        return Tree(children=[Tree()])

    assert output_of(tree)["type"] == "object"
    assert answer(tree).data == {"children": [{"children": []}]}


def test_text_is_shown_raw_and_wrapped_where_the_hint_promises_it() -> None:
    def hinted() -> str:
        return "two\nlines"

    def silent():  # type: ignore[no-untyped-def]
        return "two\nlines"

    assert answer(hinted).data == {"result": "two\nlines"}
    assert answer(hinted).text == answer(silent).text == "two\nlines"
    assert not answer(silent).has_data


def test_nothing_is_an_empty_result_unless_the_hint_promises_a_value() -> None:
    def nothing() -> None: ...

    def perhaps() -> int | None:
        return None

    assert answer(nothing) == Result()
    assert output_of(nothing) is None
    assert answer(perhaps).data == {"result": None}


@pytest.mark.parametrize(
    ("value", "data"),
    [({"a": [1]}, {"a": [1]}), ([1, 2], {"result": [1, 2]}), (Size(1), {"width": 1, "height": 2})],
)
def test_without_a_hint_the_value_itself_decides(value: object, data: object) -> None:
    def untyped():  # type: ignore[no-untyped-def]
        return value

    assert output_of(untyped) is None
    assert answer(untyped).data == data


def test_a_value_of_another_type_than_hinted_is_still_a_result() -> None:
    def lies() -> Item:
        return 3  # type: ignore[return-value]

    assert answer(lies).data == {"result": 3}


def test_a_hint_without_a_schema_promises_nothing_and_the_value_is_written_if_it_can() -> None:
    def opaque_result() -> Opaque:
        return {"a": 1}  # type: ignore[return-value]

    assert output_of(opaque_result) is None
    assert answer(opaque_result).data == {"a": 1}


@pytest.mark.parametrize("value", [Opaque(), float("nan"), {"a": float("inf")}, {1, Opaque()}])
def test_a_value_that_cannot_be_json_is_a_failure_that_says_so(value: object) -> None:
    def f():  # type: ignore[no-untyped-def]
        return value

    with pytest.raises(ToolError, match="cannot be written as JSON") as caught:
        answer(f)
    assert caught.value.code == TOOL_FAILED


def test_a_result_that_the_function_made_itself_passes() -> None:
    own = Result(content=(text_block("x"), {"type": "image", "data": "", "mimeType": "image/png"}))

    def f() -> Result:
        return own

    assert answer(f) is own
    assert output_of(f) is None


# --- errors -------------------------------------------------------------------------------------


def test_errors_of_the_docstring_and_the_decorator_become_codes_of_the_contract() -> None:
    @tool(errors=[DeclaredError(code="KeyError", message="mine", kind=ErrorKind.RETRYABLE)])
    def f() -> None:
        """Does.

        Raises:
            KeyError: theirs
            shop.Closed: the shop is closed
            ToolError: with a code of its own
        """

    assert contract_of(f).errors == (
        DeclaredError(code="KeyError", message="mine", kind=ErrorKind.RETRYABLE),
        DeclaredError(code="Closed", message="the shop is closed"),
    )


def test_a_declared_exception_keeps_its_code_and_any_other_is_a_failure() -> None:
    @tool(errors=[DeclaredError(code="LookupError", kind=ErrorKind.RETRYABLE)])
    def f() -> None: ...

    ready = FunctionTool(f, "local")
    own = ToolError("closed", "come back", ErrorKind.RETRYABLE)
    assert ready.error(own) is own
    declared = ready.error(KeyError("hat"))
    assert (declared.code, declared.kind) == ("LookupError", ErrorKind.RETRYABLE)
    assert declared.message == "KeyError: 'hat'"
    other = ready.error(ZeroDivisionError())
    assert (other.code, other.message) == (TOOL_FAILED, "ZeroDivisionError")
    assert len(ready.error(ValueError("x" * 10_000)).message) < 2_100
