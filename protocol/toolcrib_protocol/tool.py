"""The contract of a tool: everything a caller relies on.

Pydantic models, because contracts arrive from files, wires and databases; all are frozen, and two
equal contracts have the same fingerprint. A contract says nothing about where the tool runs: that
belongs to its source. What a tool does not declare stays unknown (None) and is never taken for
safe.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    SkipValidation,
    field_serializer,
    field_validator,
)

from toolcrib_protocol.errors import ErrorKind, ToolError
from toolcrib_protocol.json_value import Json, JsonObject
from toolcrib_protocol.names import GROUP_NAME, Reference, ToolId
from toolcrib_protocol.schema import fingerprint
from toolcrib_protocol.version import FIRST_VERSION, Version, VersionRange

LONGEST_NAME: Final = 400
"""In characters: even of four bytes each they fit the index of a database (2,700 bytes)."""
LONGEST_TEXT: Final = 100_000


def _is_object(value: object) -> JsonObject:
    if not isinstance(value, dict):
        # Pydantic makes a pointed refusal of a ValueError; a TypeError would fly past it.
        raise ValueError(f"must be an object, not {type(value).__name__}")  # noqa: TRY004
    return value


# Schemas and examples are JSON already when they get here: walking every node again made a
# catalogue of 3,000 tools load several times slower.
PlainObject = Annotated[JsonObject, PlainValidator(_is_object)]
PlainJson = Annotated[Json, SkipValidation]


class _Part(BaseModel):
    """A frozen part of a contract; unknown keys are refused so that a typing error is seen."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


class KeyPlace(StrEnum):
    """Where an idempotency key travels to the tool."""

    ARGUMENT = "argument"
    HEADER = "header"
    META = "meta"


class IdempotencyKey(_Part):
    """How a caller hands the tool a key that makes repeating harmless."""

    place: KeyPlace
    name: str = Field(min_length=1, max_length=200)


class Behaviour(_Part):
    """What a call does to the world. None is "not declared", which is not "safe"."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None
    idempotency_key: IdempotencyKey | None = None

    @property
    def may_repeat(self) -> bool:
        """Whether sending the same call twice is declared to be harmless."""
        return self.read_only is True or self.idempotent is True


class DeclaredError(_Part):
    """An error code of the tool's own and what a caller may do about it."""

    code: str = Field(min_length=1, max_length=200)
    message: str = Field(default="", max_length=LONGEST_TEXT)
    kind: ErrorKind = ErrorKind.FATAL


class Example(_Part):
    """A request in a person's words, the arguments that serve it, and what came back."""

    request: str = Field(default="", max_length=LONGEST_TEXT)
    arguments: PlainObject = Field(default_factory=dict)
    result: PlainJson = None


class Need(_Part):
    """An input that must come from another tool: `input` (argument name) from `group/tool`."""

    input: str = Field(min_length=1)
    from_: str = Field(alias="from", min_length=1)

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Limits(_Part):
    """Limits that the tool declares for itself."""

    timeout_seconds: float | None = Field(default=None, gt=0)
    max_concurrency: int | None = Field(default=None, ge=1)
    calls_per_second: float | None = Field(default=None, gt=0)
    max_result_bytes: int | None = Field(default=None, ge=1)


class DegradedForm(_Part):
    """What may be answered when the tool itself cannot: a smaller call, or a fixed result."""

    description: str = Field(default="", max_length=LONGEST_TEXT)
    arguments: PlainObject | None = None
    result: PlainJson = None


class BatchForm(_Part):
    """Another tool of the same group that does many of these calls at once."""

    tool: str = Field(min_length=1, max_length=LONGEST_NAME)
    items_argument: str = Field(min_length=1)
    max_items: int = Field(default=100, ge=2)


class Deprecation(_Part):
    """Since when, until when, what instead. Dates are ISO 8601 (`2027-01-31`)."""

    since: str | None = None
    sunset: str | None = None
    replaced_by: str | None = None
    note: str = Field(default="", max_length=LONGEST_TEXT)


class Icon(BaseModel):
    """A picture of the tool; unknown keys are kept."""

    model_config = ConfigDict(frozen=True, extra="allow")

    src: str


def _no_parameters() -> JsonObject:
    return {"type": "object", "properties": {}}


Text = Annotated[str, Field(max_length=LONGEST_TEXT)]


def check_tool_name(text: str) -> str:
    """`text` if it is the identity of a tool, `group/tool` without a version.

    Raises:
        ValueError: it is not.
    """
    try:
        reference = Reference.parse(text)
    except ToolError as error:
        raise ValueError(error.message) from error
    if reference.range != VersionRange():
        raise ValueError(f"write 'group/tool' without a version, not {text!r}")
    return text


ToolName = Annotated[str, AfterValidator(check_tool_name)]
"""The identity of a tool as text: `group/tool`."""


class Contract(_Part):
    """A tool as its callers know it, at one version.

    `input_schema` and `output_schema` are the exact schemas: they check calls and results. What
    models see is derived from them by `toolcrib_protocol.schema.publish`.
    """

    group: str
    name: str = Field(min_length=1, max_length=LONGEST_NAME)
    version: Version = FIRST_VERSION
    title: Text | None = None
    description: Text = ""
    when_to_use: Text = ""
    when_not_to_use: Text = ""
    preconditions: tuple[Text, ...] = ()
    needs: tuple[Need, ...] = ()
    input_schema: PlainObject = Field(default_factory=_no_parameters)
    output_schema: PlainObject | None = None
    errors: tuple[DeclaredError, ...] = ()
    examples: tuple[Example, ...] = ()
    behaviour: Behaviour = Behaviour()
    limits: Limits = Limits()
    equivalents: tuple[ToolName, ...] = Field(default=(), max_length=20)
    degraded: DegradedForm | None = None
    batch: BatchForm | None = None
    tags: tuple[str, ...] = ()
    deprecation: Deprecation | None = None
    icons: tuple[Icon, ...] = ()
    meta: PlainObject = Field(default_factory=dict)

    @field_validator("group")
    @classmethod
    def _group_is_a_name(cls, group: str) -> str:
        if not GROUP_NAME.fullmatch(group):
            raise ValueError(f"{group!r} is not a group name")
        return group

    @field_validator("version", mode="before")
    @classmethod
    def _version_from_text(cls, version: object) -> object:
        if isinstance(version, str):
            return _parsed_version(version)
        return version

    @field_serializer("version")
    def _version_as_text(self, version: Version) -> str:
        return str(version)

    @property
    def id(self) -> ToolId:
        """The identity: home group and name."""
        return ToolId(self.group, self.name)

    @property
    def reference(self) -> Reference:
        """The reference to the newest version of this tool."""
        return Reference(self.id)

    @property
    def declares_version(self) -> bool:
        """Whether the author gave a version number, instead of leaving the counting to the crib."""
        return "version" in self.model_fields_set

    def as_json(self) -> JsonObject:
        """The contract as JSON without what is at its default; `Contract.model_validate` reads it.

        The version is written exactly if it was declared: a contract that declares 1.0.0 is not one
        that declares none.
        """
        facts: JsonObject = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        # Pydantic does not see the default behind a field serializer, so it would always be
        # written.
        facts.pop("version", None)
        return {**facts, "version": str(self.version)} if self.declares_version else facts

    def fingerprint(self) -> str:
        """What tells two contracts apart, whatever version number they carry (sha256, hex)."""
        facts = self.as_json()
        facts.pop("version", None)
        return fingerprint(facts)


def _parsed_version(text: str) -> Version:
    # Pydantic turns ValueError into a pointed refusal; ToolError would fly past it.
    try:
        return Version.parse(text)
    except ToolError as error:
        raise ValueError(error.message) from error
