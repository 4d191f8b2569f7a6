"""Overlays: what the operator lays over a contract that somebody else wrote.

Half of all real tools declare no behaviour, many say too little about when to use them, and some
have arguments that no agent should choose. An overlay adds that without touching the source. Pure:
a contract and an overlay in, the contract that callers see out. When it is laid, and what happens
if it does not fit any more, is decided in `toolcrib_registry`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from toolcrib_protocol.errors import INVALID_CONTRACT, INVALID_SETTINGS, ToolError
from toolcrib_protocol.json_pointer import pointer
from toolcrib_protocol.schema import Checker
from toolcrib_protocol.schema.extent import extent
from toolcrib_protocol.schema.narrowing import required_arguments, without_arguments
from toolcrib_protocol.tool import (
    BatchForm,
    Contract,
    DeclaredError,
    DegradedForm,
    Example,
    IdempotencyKey,
    KeyPlace,
    PlainObject,
    Text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_protocol.json_value import JsonObject

_MOST_ARGUMENTS: Final = 200
_MOST_EXAMPLES: Final = 50
_MOST_ERRORS: Final = 100
_DEEPEST: Final = 64


def _is_shallow(value: JsonObject) -> JsonObject:
    if extent(value, _DEEPEST).depth > _DEEPEST:
        raise ValueError(f"nested deeper than {_DEEPEST} levels")
    return value


def _degrades_shallowly(form: DegradedForm | None) -> DegradedForm | None:
    _is_shallow({} if form is None else {"arguments": form.arguments, "result": form.result})
    return form


ShallowObject = Annotated[PlainObject, AfterValidator(_is_shallow)]
ShallowForm = Annotated[DegradedForm | None, AfterValidator(_degrades_shallowly)]


class OverlayExample(BaseModel):
    """A request in a person's words and the arguments that serve it, without the preset ones."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    request: Text = ""
    arguments: ShallowObject = Field(default_factory=dict)


class Overlay(BaseModel):
    """What is laid over a contract; what is None or empty leaves the contract as it is.

    Attributes:
        title: for people.
        description: takes the place of the source's own.
        when_to_use: what the tool is right for.
        when_not_to_use: what it is wrong for, and what is right there.
        examples: stand before the source's own.
        read_only: a call changes nothing.
        destructive: a call may destroy something.
        idempotent: the same call twice is like once.
        open_world: it reaches beyond its own domain.
        idempotency_key: how a key that makes repeating harmless travels to the tool.
        errors: codes of the tool's own and what a caller may do about them, before the source's.
        timeout_seconds: how long a call may take.
        degraded: what may be answered when the tool itself cannot.
        batch: another tool of the group that does many of these calls at once.
        presets: arguments that every call is sent with; callers neither see nor choose them.
        hidden_arguments: arguments that callers neither see nor give; the source's default holds.
        hidden: the tool is not offered at all, and not called.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Text | None = None
    description: Text | None = None
    when_to_use: Text | None = None
    when_not_to_use: Text | None = None
    examples: tuple[OverlayExample, ...] = Field(default=(), max_length=_MOST_EXAMPLES)
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None
    idempotency_key: IdempotencyKey | None = None
    errors: tuple[DeclaredError, ...] = Field(default=(), max_length=_MOST_ERRORS)
    timeout_seconds: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    degraded: ShallowForm = None
    batch: BatchForm | None = None
    presets: ShallowObject = Field(default_factory=dict)
    hidden_arguments: tuple[str, ...] = Field(default=(), max_length=_MOST_ARGUMENTS)
    hidden: bool = False

    @classmethod
    def read(cls, facts: JsonObject) -> Overlay:
        """The overlay that `facts` say.

        Raises:
            ToolError: `invalid_settings`, naming the key.
        """
        try:
            return cls.model_validate(facts)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = "/".join(str(part) for part in first["loc"])
            text = f"the overlay is wrong at {where or 'its top'}: {first['msg']}"
            raise ToolError(INVALID_SETTINGS, text) from error

    def as_json(self) -> JsonObject:
        """The overlay as JSON without what it leaves alone; `read` reads it."""
        # Not pydantic's own JSON: it replaces lone surrogates in keys.
        facts: JsonObject = json.loads(json.dumps(self.model_dump(exclude_defaults=True)))
        return facts

    @property
    def reserved(self) -> tuple[str, ...]:
        """The arguments that callers do not see, sorted."""
        return tuple(sorted({*self.presets, *self.hidden_arguments}))


@dataclass(frozen=True, slots=True)
class Laid:
    """A contract with an overlay on it.

    Attributes:
        contract: as callers see it.
        presets: arguments that every call is sent with.
        reserved: names that callers may not give.
        left_out: what of the overlay does not fit and was left out, in sentences.
    """

    contract: Contract
    presets: JsonObject = field(default_factory=dict)
    reserved: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def lay(offered: Contract, overlay: Overlay) -> Laid:
    """`offered` with `overlay` on it.

    Texts and behaviour always fit. An example that does not fit is left out. Arguments are another
    matter: an agent must not get to choose what the operator has set, so they fit or are refused.

    Raises:
        ToolError: `invalid_contract` if a preset or hidden argument does not fit the contract.
    """
    reserved = overlay.reserved
    _check_presets(offered, overlay)
    _check_key(offered, overlay)
    schema = without_arguments(offered.input_schema, reserved)
    checker = Checker.compile(schema)
    fitting = tuple(_examples(overlay, reserved))
    faults = [_fault(checker, example.arguments) for example in fitting]
    examples = tuple(e for e, fault in zip(fitting, faults, strict=True) if fault is None)
    left_out = tuple(
        f"the example {position} {example.request[:80]!r} does not fit: {fault}"
        for position, (example, fault) in enumerate(zip(fitting, faults, strict=True), 1)
        if fault is not None
    )
    own = tuple(_without(example, reserved) for example in offered.examples)
    limits = offered.limits
    if overlay.timeout_seconds is not None:
        limits = limits.model_copy(update={"timeout_seconds": overlay.timeout_seconds})
    contract = offered.model_copy(
        update={
            **_told(overlay, _PARTS),
            "behaviour": offered.behaviour.model_copy(update=_told(overlay, _BEHAVIOUR)),
            "errors": _errors(offered, overlay),
            "limits": limits,
            "input_schema": schema,
            "examples": (*examples, *own),
            "needs": tuple(need for need in offered.needs if need.input not in reserved),
        }
    )
    return Laid(contract, overlay.presets, reserved, left_out)


_PARTS: Final = (
    "title",
    "description",
    "when_to_use",
    "when_not_to_use",
    "degraded",
    "batch",
)
_BEHAVIOUR: Final = ("read_only", "destructive", "idempotent", "open_world", "idempotency_key")


def _told(overlay: Overlay, names: tuple[str, ...]) -> dict[str, object]:
    """The attributes of those names that the overlay says something about."""
    return {name: value for name in names if (value := getattr(overlay, name)) is not None}


def _errors(offered: Contract, overlay: Overlay) -> tuple[DeclaredError, ...]:
    """The declared errors, of which the operator's word comes first."""
    told = {error.code for error in overlay.errors}
    return (*overlay.errors, *(error for error in offered.errors if error.code not in told))


def _check_key(offered: Contract, overlay: Overlay) -> None:
    """Refuse a key in an argument that the tool does not have, or that callers may not give.

    Raises:
        ToolError: `invalid_contract`.
    """
    key = overlay.idempotency_key
    if key is None or key.place is not KeyPlace.ARGUMENT:
        return
    known = offered.input_schema.get("properties")
    if not isinstance(known, dict) or key.name not in known:
        raise _misfit(f"its key is the argument {key.name!r}, which {offered.id} does not take")
    if key.name in overlay.reserved:
        raise _misfit(f"its key is the argument {key.name!r}, which it sets or hides itself")


def _check_presets(offered: Contract, overlay: Overlay) -> None:
    """Refuse arguments that the source would refuse, or that it needs and nobody gives.

    Raises:
        ToolError: `invalid_contract`.
    """
    if not overlay.reserved:
        return
    checker = Checker.compile(offered.input_schema)
    unknown = checker.unknown_arguments(overlay.presets)
    if unknown:
        raise _misfit(f"it presets what {offered.id} does not take: {unknown[0]}")
    places = tuple(pointer([name]) for name in overlay.presets)
    for violation in checker.check(overlay.presets):
        if f"{violation.pointer}/".startswith(tuple(f"{place}/" for place in places)):
            raise _misfit(f"it presets what {offered.id} refuses: {violation}")
    required = required_arguments(offered.input_schema)
    missing = sorted(required & {*overlay.hidden_arguments} - {*overlay.presets})
    if missing:
        raise _misfit(
            f"it hides {missing[0]!r}, which {offered.id} requires; give it a preset value"
        )


def _misfit(text: str) -> ToolError:
    return ToolError(INVALID_CONTRACT, text)


def _examples(overlay: Overlay, reserved: tuple[str, ...]) -> Iterator[Example]:
    for told in overlay.examples:
        yield _without(Example(request=told.request, arguments=told.arguments), reserved)


def _without(example: Example, reserved: tuple[str, ...]) -> Example:
    """The example as a caller would write it, who does not give reserved arguments."""
    kept = {name: value for name, value in example.arguments.items() if name not in reserved}
    return example.model_copy(update={"arguments": kept})


def _fault(checker: Checker, arguments: JsonObject) -> str | None:
    """Why arguments do not fit; an example without any is a request in words only."""
    if not arguments:
        return None
    faults = [*map(str, checker.check(arguments)), *map(str, checker.unknown_arguments(arguments))]
    return faults[0] if faults else None
