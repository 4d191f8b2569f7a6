"""The schemas of a Python function, and values in and out of it.

Type hints become the exact input and output schema; JSON arguments become the hinted types, and
what the function returns becomes a result. Pydantic does the work. Knows nothing about contracts,
names or where the function runs; used by `function_tool` and by the worker process that calls the
function.
"""

from __future__ import annotations

import inspect
import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

from pydantic import BaseModel, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, to_jsonable_python

from toolcrib_protocol.content import text_block
from toolcrib_protocol.errors import INVALID_ARGUMENTS, INVALID_CONTRACT, TOOL_FAILED, ToolError
from toolcrib_protocol.json_value import Json, JsonObject, dump_json
from toolcrib_protocol.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_VARIADIC: Final = frozenset({inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD})
# Hints that say nothing about the shape of what comes back.
_NO_OUTPUT: Final[tuple[object, ...]] = (
    inspect.Signature.empty,
    None,
    type(None),
    NoReturn,
    typing.Any,
    object,
    Result,
)
_MOST_FAULTS: Final = 20
WRAPPED: Final = "result"
"""The key under which a return value that is not an object travels, as MCP wants objects."""


class _LeanJsonSchema(GenerateJsonSchema):
    """JSON Schema without titles made from parameter names: they cost tokens and tell nothing."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

    def field_title_should_be_set(self, schema: object) -> bool:
        del schema
        return False


@dataclass(frozen=True, slots=True)
class _Parameter:
    """One parameter as a field of a pydantic model.

    Fields have names of our own, because a parameter may be called `schema` or `_x`, which a model
    refuses.
    """

    field: str
    name: str
    annotation: object
    default: object

    @property
    def has_own_default(self) -> bool:
        """Whether the function itself knows a default; pydantic's `Field(...)` is none."""
        return self.default is not inspect.Parameter.empty and not isinstance(
            self.default, FieldInfo
        )

    @property
    def definition(self) -> object:
        """What `create_model` wants."""
        return (
            self.annotation
            if self.default is inspect.Parameter.empty
            else (self.annotation, self.default)
        )


@dataclass(frozen=True, slots=True)
class FunctionSchema:
    """What a function takes and gives, as JSON Schema, and the conversions.

    Attributes:
        input_schema: an object schema with one property a parameter.
        output_schema: an object schema, or None where the hints promise nothing.
    """

    input_schema: JsonObject
    output_schema: JsonObject | None
    _model: type[BaseModel]
    _parameters: tuple[_Parameter, ...]
    _output: TypeAdapter[object] | None
    _is_wrapped: bool

    @classmethod
    def of(cls, function: Callable[..., object], descriptions: Mapping[str, str]) -> FunctionSchema:
        """The schemas of `function`.

        Args:
            function: sync or async, with parameters that can be given by name.
            descriptions: text by parameter name; a description in the hint wins.

        Raises:
            ToolError: `invalid_contract`, naming the parameter or hint that cannot be put into a
                schema.
        """
        name = getattr(function, "__name__", repr(function))
        signature, hints = _signature(function, name)
        parameters = tuple(_parameters(signature, hints, descriptions))
        model, input_schema = _input_of(name, parameters)
        output, output_schema, is_wrapped = _output_of(hints.get("return", inspect.Signature.empty))
        return cls(input_schema, output_schema, model, parameters, output, is_wrapped)

    def arguments(self, values: JsonObject) -> dict[str, object]:
        """Keyword arguments for the function, in the hinted types, without those not given.

        Raises:
            ToolError: `invalid_arguments`, with one line a fault.
        """
        try:
            model = self._model.model_validate(values)
        except ValidationError as error:
            raise ToolError(INVALID_ARGUMENTS, _faults(error)) from error
        given = model.model_fields_set
        return {
            parameter.name: getattr(model, parameter.field)
            for parameter in self._parameters
            if parameter.field in given or not parameter.has_own_default
        }

    def result(self, value: object) -> Result:
        """The result that carries what the function returned; a `Result` passes as it is.

        Raises:
            ToolError: `tool_failed` if the value cannot be written as JSON.
        """
        if isinstance(value, Result):
            return value
        if value is None and self._output is None:
            return Result()
        try:
            plain = self._plain(value)
            text = plain if isinstance(plain, str) else dump_json(plain)
        except (
            PydanticSerializationError,
            ToolError,
            TypeError,
            ValueError,
            RecursionError,
        ) as error:
            kind = type(value).__name__
            problem = f"the function returned a {kind} that cannot be written as JSON: {error}"
            raise ToolError(TOOL_FAILED, problem) from error
        content = (text_block(text),)
        if self._output is None and isinstance(plain, str):
            return Result(content=content)
        data: JsonObject = (
            plain if isinstance(plain, dict) and not self._is_wrapped else {WRAPPED: plain}
        )
        return Result(data=data, content=content, has_data=True)

    def _plain(self, value: object) -> Json:
        if self._output is None:
            plain: Json = to_jsonable_python(value)
            return plain
        # A value of another type than hinted is still a result; the check of the output flags it.
        dumped: Json = self._output.dump_python(value, mode="json", by_alias=True, warnings=False)
        return dumped


def _signature(
    function: Callable[..., object], name: str
) -> tuple[inspect.Signature, dict[str, object]]:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise _unusable(name, "it yields; a tool returns its result once")
    try:
        signature = inspect.signature(function)
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, ValueError, AttributeError) as error:
        raise _unusable(name, f"its type hints cannot be read at run time: {error}") from error
    for parameter in signature.parameters.values():
        if parameter.kind in _VARIADIC:
            raise _unusable(
                name, f"*{parameter.name} has no schema; give each argument a name and a type hint"
            )
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            raise _unusable(name, f"{parameter.name!r} is positional only; arguments come by name")
    return signature, hints


def _parameters(
    signature: inspect.Signature, hints: Mapping[str, object], descriptions: Mapping[str, str]
) -> Iterator[_Parameter]:
    for position, parameter in enumerate(signature.parameters.values()):
        hint = hints.get(parameter.name, typing.Any)
        base, *metadata = typing.get_args(hint) if typing.get_origin(hint) is Annotated else (hint,)
        described = Field(description=descriptions.get(parameter.name))
        alias = Field(alias=parameter.name)
        annotation = Annotated[base, described, *metadata, alias]  # type: ignore[valid-type]
        yield _Parameter(f"argument_{position}", parameter.name, annotation, parameter.default)


def _input_of(name: str, parameters: tuple[_Parameter, ...]) -> tuple[type[BaseModel], JsonObject]:
    fields = {parameter.field: parameter.definition for parameter in parameters}
    try:
        model: type[BaseModel] = create_model("Arguments", **fields)  # type: ignore[call-overload]
        schema = model.model_json_schema(schema_generator=_LeanJsonSchema)
    except (PydanticUserError, TypeError, NameError) as error:
        raise _unusable(name, f"a type hint has no JSON Schema: {_first_line(error)}") from error
    schema.pop("title", None)
    # Set here and not in the model's config, which dataclasses inside the hints would inherit.
    return model, {**schema, "additionalProperties": False}


def _output_of(hint: object) -> tuple[TypeAdapter[object] | None, JsonObject | None, bool]:
    if any(hint is silent for silent in _NO_OUTPUT):
        return None, None, False
    try:
        adapter: TypeAdapter[object] = TypeAdapter(hint)  # type: ignore[arg-type]
        schema = adapter.json_schema(mode="serialization", schema_generator=_LeanJsonSchema)
    except (PydanticUserError, TypeError, NameError):
        # Only the promise is missing then: what comes back is written as well as it can be.
        return None, None, False
    root = _without_root_reference(schema)
    if root.get("type") == "object":
        return adapter, root, False
    definitions = schema.pop("$defs", None)
    wrapped: JsonObject = {"type": "object", "properties": {WRAPPED: schema}, "required": [WRAPPED]}
    return adapter, wrapped if definitions is None else {**wrapped, "$defs": definitions}, True


def _without_root_reference(schema: JsonObject) -> JsonObject:
    """A recursive model is a bare `$ref` at the root, where MCP wants `type: object` to be read."""
    reference, definitions = schema.get("$ref"), schema.get("$defs")
    if not isinstance(reference, str) or not isinstance(definitions, dict):
        return schema
    target = definitions.get(reference.removeprefix("#/$defs/"))
    return {**target, "$defs": definitions} if isinstance(target, dict) else schema


def _faults(error: ValidationError) -> str:
    lines = [
        f"/{'/'.join(str(part) for part in fault['loc'])}: {fault['msg']}"
        for fault in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    return "the arguments do not fit the function: " + "; ".join(lines[:_MOST_FAULTS])


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _unusable(name: str, problem: str) -> ToolError:
    return ToolError(INVALID_CONTRACT, f"{name!r} cannot become a tool: {problem}")
