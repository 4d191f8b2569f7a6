"""`@tool`: a Python function becomes a tool with a contract.

The decorator only leaves a note on the function, which stays callable as it is; `contract_of` reads
the note, the type hints and the docstring. Runs nothing and registers nothing: sources and
publishing look for the notes. Used by authors of tools, by the source of Python functions and by
the client.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, TypedDict, TypeVar, Unpack, overload

from pydantic import ValidationError

from toolcrib_protocol.docstring import Docstring, read_docstring
from toolcrib_protocol.errors import INVALID_CONTRACT, TOOL_FAILED, ToolError
from toolcrib_protocol.function_schema import FunctionSchema
from toolcrib_protocol.tool import Contract, DeclaredError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolcrib_protocol.tool import Example

_NOTE: Final = "__toolcrib_tool__"


class ToolDeclaration(TypedDict, total=False):
    """What `@tool(...)` accepts; everything is optional.

    Attributes:
        group: the home group (default: the name of the source that offers the function).
        version: `MAJOR.MINOR.PATCH`; without one the crib counts versions by itself.
        name: the tool's name (default: the function's).
        title: a short name for people.
        when_to_use: for models, beside the description.
        when_not_to_use: what to use instead, and when.
        read_only: it changes nothing.
        destructive: it may delete or overwrite.
        idempotent: calling it again with the same arguments changes nothing more.
        open_world: it talks to things outside.
        tags: words to find it by.
        examples: requests with the arguments that serve them.
        errors: codes of its own with what they mean, beside those of the docstring's `Raises:`.
        timeout_seconds: when a call is stopped.
    """

    group: str
    version: str
    name: str
    title: str
    when_to_use: str
    when_not_to_use: str
    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool
    tags: Sequence[str]
    examples: Sequence[Example | Mapping[str, object]]
    errors: Mapping[str, str] | Sequence[DeclaredError]
    timeout_seconds: float


LONGEST_ERROR_TEXT: Final = 2_000
_BEHAVIOUR: Final = ("read_only", "destructive", "idempotent", "open_world")
_AS_THEY_ARE: Final = ("version", "title", "when_to_use", "when_not_to_use", "tags", "examples")


_Function = TypeVar("_Function", bound="Callable[..., object]")


@overload
def tool(function: _Function, /) -> _Function: ...


@overload
def tool(**declaration: Unpack[ToolDeclaration]) -> Callable[[_Function], _Function]: ...


def tool(
    function: _Function | None = None, /, **declaration: Unpack[ToolDeclaration]
) -> _Function | Callable[[_Function], _Function]:
    """Mark a function, sync or async, as a tool: `@tool` or `@tool(version="1.2.0", ...)`.

    The input schema comes from the type hints (`Annotated[..., Field(description=...)]`, models,
    dataclasses, enums), descriptions from the docstring. The function itself is not changed.

    A crib runs functions in worker processes of their own and may end and restart them: what a
    function keeps in module variables belongs to one process, so keep state in files or a database.
    A sync function has a process to itself while it runs; async functions share one, so they must
    not block.

    Raises:
        TypeError: an option that `ToolDeclaration` does not know.
    """
    unknown = sorted(set(declaration) - set(ToolDeclaration.__annotations__))
    if unknown:
        known = ", ".join(ToolDeclaration.__annotations__)
        raise TypeError(f"@tool does not know {', '.join(unknown)}; it knows {known}")

    def mark(marked: _Function) -> _Function:
        setattr(marked, _NOTE, declaration)
        return marked

    return mark if function is None else mark(function)


def is_tool(value: object) -> bool:
    """Whether `value` is a function that `@tool` marked."""
    return inspect.isroutine(value) and _NOTE in getattr(value, "__dict__", ())


class FunctionTool:
    """A function with its contract, ready to be called with JSON arguments."""

    def __init__(self, function: Callable[..., object], default_group: str) -> None:
        """Read the note, hints and docstring of `function`.

        Raises:
            ToolError: `invalid_contract`.
        """
        documentation = read_docstring(function.__doc__)
        self.function = function
        self.schema = FunctionSchema.of(function, documentation.parameters)
        self.contract = _contract(function, self.schema, documentation, default_group)

    @property
    def is_async(self) -> bool:
        """Whether calling the function gives something to await."""
        return inspect.iscoroutinefunction(self.function)

    def error(self, raised: BaseException) -> ToolError:
        """What callers are told about an exception of the function.

        A `ToolError` is passed on; an exception type that the contract declares becomes that code,
        any other becomes `tool_failed`.
        """
        if isinstance(raised, ToolError):
            return raised
        text = str(raised)[:LONGEST_ERROR_TEXT]
        message = f"{type(raised).__name__}: {text}" if text else type(raised).__name__
        names = {kind.__name__ for kind in type(raised).__mro__}
        declared = next((error for error in self.contract.errors if error.code in names), None)
        if declared is None:
            return ToolError(TOOL_FAILED, message)
        return ToolError(declared.code, message, declared.kind)


def contract_of(function: Callable[..., object], default_group: str = "local") -> Contract:
    """The contract of a function, marked with `@tool` or not.

    Args:
        function: sync or async; parameters without type hints take any JSON value.
        default_group: the home group if the decorator names none.

    Raises:
        ToolError: `invalid_contract`, saying what has to change.
    """
    return FunctionTool(function, default_group).contract


def _contract(
    function: Callable[..., object], schema: FunctionSchema, text: Docstring, default_group: str
) -> Contract:
    note: ToolDeclaration = getattr(function, _NOTE, ToolDeclaration())
    name = note.get("name", function.__name__)
    facts: dict[str, object] = {key: value for key, value in note.items() if key in _AS_THEY_ARE}
    facts |= {
        "group": note.get("group", default_group),
        "name": name,
        "description": text.text,
        "input_schema": schema.input_schema,
        "output_schema": schema.output_schema,
        "behaviour": {key: note[key] for key in _BEHAVIOUR if key in note},
        "limits": {"timeout_seconds": note.get("timeout_seconds")},
        "errors": _errors(note.get("errors", ()), text.raises),
    }
    try:
        return Contract.model_validate(facts)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = "/".join(str(part) for part in fault["loc"])
        raise ToolError(INVALID_CONTRACT, f"the tool {name!r}: {where}: {fault['msg']}") from error


def _errors(
    declared: Mapping[str, str] | Sequence[DeclaredError], raises: Mapping[str, str]
) -> list[DeclaredError]:
    """Declared codes, then those of the docstring; a `ToolError` carries codes of its own."""
    own = (
        [DeclaredError(code=code, message=message) for code, message in declared.items()]
        if isinstance(declared, Mapping)
        else list(declared)
    )
    known = {error.code for error in own} | {ToolError.__name__}
    from_text = ((name.rpartition(".")[2], message) for name, message in raises.items())
    return own + [
        DeclaredError(code=code, message=text) for code, text in from_text if code not in known
    ]
