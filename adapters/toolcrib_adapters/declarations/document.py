"""What may stand in a `crib.toml`: its tables and keys, as models and as a JSON Schema.

The settings of sources are those that their openers understand, under the same names. Knows nothing
of files and positions (`reading`) or of what is in the catalogue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    WithJsonSchema,
)

from toolcrib_adapters.outbound.addresses import Reach
from toolcrib_adapters.sources.mcp_upstream.spec import HttpSpec, StdioSpec
from toolcrib_adapters.sources.python_functions.source import PythonSpec
from toolcrib_protocol.call_rules import CallRules, RuleScope
from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.json_value import JsonObject, parse_json
from toolcrib_protocol.names import GROUP_NAME, check_group_name
from toolcrib_protocol.overlay import Overlay, OverlayExample, ShallowForm, ShallowObject
from toolcrib_protocol.tool import PlainJson, ToolName
from toolcrib_registry.records import EndpointMode

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json


def _from_text(value: object) -> object:
    """JSON written as text: TOML has no null."""
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value)
    except ToolError as error:
        raise ValueError(error.message) from error


def _is_name(text: str) -> str:
    try:
        return check_group_name(text, what="source, group or profile")
    except ToolError as error:
        raise ValueError(error.message) from error


def _is_scope(text: str) -> str:
    try:
        return str(RuleScope.parse(text))
    except ToolError as error:
        raise ValueError(error.message) from error


Name = Annotated[
    str,
    AfterValidator(_is_name),
    WithJsonSchema({"type": "string", "pattern": f"^(?:{GROUP_NAME.pattern})$"}),
]
Scope = Annotated[str, AfterValidator(_is_scope)]
ObjectOrText = Annotated[
    ShallowObject,
    BeforeValidator(_from_text),
    WithJsonSchema({"type": ["object", "string"], "description": "A table, or JSON as text."}),
]
FormOrText = Annotated[
    ShallowForm,
    BeforeValidator(_from_text),
    WithJsonSchema({"type": ["object", "string"], "description": "A table, or JSON as text."}),
]
ListOrText = Annotated[
    list[PlainJson],
    BeforeValidator(_from_text),
    WithJsonSchema({"type": ["array", "string"], "description": "A list, or JSON as text."}),
]


class Table(BaseModel):
    """A table of the file; a key that it does not know is warned about, not refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class StdioEntry(StdioSpec):
    """An MCP server that is started as a process: `command`, `args`, `env`, `cwd`."""

    transport: Literal["stdio"] = "stdio"
    group: Name | None = None


class HttpEntry(HttpSpec):
    """An MCP server at an address: `url`, `headers`."""

    transport: Literal["http", "sse"] = "http"
    group: Name | None = None


class PythonEntry(PythonSpec):
    """Python functions marked with `@tool`: `target` is a file or a module."""

    model_config = ConfigDict(hide_input_in_errors=True)

    group: Name | None = None


class SnapshotEntry(Table):
    """A list for reading only: the `path` of a file, or the published `entries` themselves."""

    path: Annotated[str, StringConstraints(min_length=1)] | None = None
    entries: ListOrText | None = None
    group: Name | None = None


_MARKS: Final = {
    "command": "stdio",
    "url": "http",
    "target": "python",
    "path": "snapshot",
    "entries": "snapshot",
}
_WHICH: Final = (
    "say what the source is, by one of the keys command, url, target (Python), path or entries"
)


def _mark(entry: object) -> str | None:
    found = [mark for key, mark in _MARKS.items() if isinstance(entry, dict) and key in entry]
    return found[0] if len(found) == 1 else None


SourceEntry = Annotated[
    Annotated[StdioEntry, Tag("stdio")]
    | Annotated[HttpEntry, Tag("http")]
    | Annotated[PythonEntry, Tag("python")]
    | Annotated[SnapshotEntry, Tag("snapshot")],
    Discriminator(_mark, custom_error_type="which_source", custom_error_message=_WHICH),
]


class GroupEntry(Table):
    """A group; what is not said stays as it is."""

    title: str | None = None
    description: str | None = None
    members: tuple[ToolName, ...] | None = None
    """Tools of other home groups."""
    refuse_unknown_arguments: bool | None = None


class ExampleEntry(OverlayExample):
    """An example of an overlay."""

    arguments: ObjectOrText = Field(default_factory=dict)


class OverlayEntry(Overlay):
    """What is laid over a tool."""

    model_config = ConfigDict(hide_input_in_errors=True)

    presets: ObjectOrText = Field(default_factory=dict)
    degraded: FormOrText = None
    examples: tuple[ExampleEntry, ...] = Field(default=(), max_length=50)


class ProfileEntry(Table):
    """What one kind of client sees."""

    title: str = ""
    description: str = ""
    groups: tuple[Name, ...] | None = None
    pins: tuple[ToolName, ...] = ()
    mode: EndpointMode = EndpointMode.AUTO
    timeout_seconds: float | None = Field(default=None, gt=0)
    calls_at_once: int | None = Field(default=None, ge=1)


class Limits(Table):
    """How much an endpoint takes; for `toolcrib serve --config`, whose options win."""

    body_mib: int | None = Field(default=None, ge=1)
    max_requests: int | None = Field(default=None, ge=1)
    max_sessions: int | None = Field(default=None, ge=1)
    session_idle_seconds: float | None = Field(default=None, ge=1)
    drain_seconds: float | None = Field(default=None, ge=0)


class Policies(Table):
    """Whom an endpoint serves; for `toolcrib serve --config`, whose options win."""

    allow_publish: bool | None = None
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    public_url: str | None = None
    upstream_addresses: Reach | None = None
    """Which addresses sources may be at; the stricter of this and the environment holds."""


class CribFile(Table):
    """A whole `crib.toml`."""

    name: Name = "crib"
    """Whose parts these are: a file takes out again what an earlier one of its name put in."""
    sources: dict[Name, SourceEntry] = Field(default_factory=dict)
    groups: dict[Name, GroupEntry] = Field(default_factory=dict)
    overlays: dict[ToolName, OverlayEntry] = Field(default_factory=dict)
    profiles: dict[Name, ProfileEntry] = Field(default_factory=dict)
    rules: dict[Scope, CallRules] = Field(default_factory=dict)
    """What holds for calls, by `tool:GROUP/NAME`, `group:NAME` or `source:NAME`."""
    limits: Limits = Limits()
    policies: Policies = Policies()


def json_schema() -> JsonObject:
    """The JSON Schema of a `crib.toml`, for editors."""
    schema: dict[str, Json] = CribFile.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "crib.toml",
    }
