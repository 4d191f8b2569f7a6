"""One entry of a foreign `tools/list`, judged alone.

It is accepted, repaired and marked, or quarantined with a reason; whatever it does, its siblings never suffer. Repairs are
made only where the meaning is certain. What is not declared stays unknown. Works on raw JSON: no SDK model stands
between an upstream's bytes and this verdict.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.schema import Checker

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject

_LONGEST_NAME: Final = 1_000
_LONGEST_TEXT: Final = 100_000
_HINTS: Final = {
    "readOnlyHint": "read_only",
    "destructiveHint": "destructive",
    "idempotentHint": "idempotent",
    "openWorldHint": "open_world",
}


@dataclass(frozen=True, slots=True)
class Repair:
    """What was mended, and where (JSON Pointer into the entry)."""

    pointer: str
    what: str

    def __str__(self) -> str:
        return f"{self.pointer}: {self.what}"


@dataclass(frozen=True, slots=True)
class Adopted:
    """An entry that can be used.

    `input_schema` and `output_schema` are exact (after repairs); the hints are None where nothing was declared; `raw` is
    the entry as it came.
    """

    name: str
    title: str | None
    description: str
    input_schema: JsonObject
    output_schema: JsonObject | None
    raw: JsonObject
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None
    icons: tuple[JsonObject, ...] = ()
    meta: JsonObject = field(default_factory=dict)
    repairs: tuple[Repair, ...] = ()


@dataclass(frozen=True, slots=True)
class Quarantined:
    """An entry that cannot be used: where it is at fault and why; `raw` is the entry as it came."""

    name: str | None
    pointer: str
    reason: str
    raw: Json


class _Fault(Exception):
    """The entry cannot be used."""

    def __init__(self, pointer: str, reason: str) -> None:
        super().__init__(reason)
        self.pointer = pointer
        self.reason = reason


def judge(raw: Json) -> Adopted | Quarantined:
    """The verdict on one entry. Never raises, whatever the entry is."""
    name = raw.get("name") if isinstance(raw, dict) else None
    readable = name if isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME else None
    try:
        return _adopted(raw)
    except _Fault as fault:
        return Quarantined(readable, fault.pointer, fault.reason, raw)


def _adopted(raw: Json) -> Adopted:
    if not isinstance(raw, dict):
        raise _Fault("", f"an entry must be an object, not {_kind(raw)}")
    repairs: list[Repair] = []
    annotations = raw.get("annotations")
    return Adopted(
        name=_name(raw),
        title=_title(raw, annotations, repairs),
        description=_text(raw, "description") or "",
        input_schema=_input_schema(raw, repairs),
        output_schema=_output_schema(raw),
        raw=raw,
        icons=_icons(raw, repairs),
        meta=_object_or_empty(raw, "_meta", repairs),
        **_hints(annotations, repairs),
        repairs=tuple(repairs),
    )


def _name(raw: JsonObject) -> str:
    name = raw.get("name")
    if not isinstance(name, str) or not name.strip():
        raise _Fault("/name", "the entry has no name")
    if len(name) > _LONGEST_NAME:
        raise _Fault("/name", f"the name is longer than {_LONGEST_NAME:,} characters")
    return name


def _text(raw: JsonObject, key: str) -> str | None:
    value = raw.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise _Fault(f"/{key}", f"{key} must be text, not {_kind(value)}")
    if len(value) > _LONGEST_TEXT:
        raise _Fault(f"/{key}", f"{key} is longer than {_LONGEST_TEXT:,} characters")
    return value


def _title(raw: JsonObject, annotations: Json, repairs: list[Repair]) -> str | None:
    """The title; before revision 2025-06-18 it stood among the annotations."""
    title = raw.get("title")
    if title is None and isinstance(annotations, dict):
        title = annotations.get("title")
    if title is None or (isinstance(title, str) and len(title) <= _LONGEST_TEXT):
        return title
    repairs.append(Repair("/title", "dropped, because it is not a short text"))
    return None


def _input_schema(raw: JsonObject, repairs: list[Repair]) -> JsonObject:
    schema = raw.get("inputSchema")
    if not isinstance(schema, dict):
        what = "is missing" if "inputSchema" not in raw else f"must be an object, not {_kind(schema)}"
        raise _Fault("/inputSchema", f"the input schema {what}")
    kind = schema.get("type")
    if kind is None:
        schema = _typed(schema)
        repairs.append(Repair("/inputSchema/type", "was missing and is taken as 'object'"))
    elif kind != "object":
        raise _Fault("/inputSchema/type", f"the input schema must be of type 'object', not {kind!r}")
    _compiled(schema, "/inputSchema")
    return schema


def _typed(schema: JsonObject) -> JsonObject:
    """`schema` as an object schema: arguments always are one, so nothing that could be valid is lost."""
    if not schema:
        raise _Fault("/inputSchema", "the input schema is empty: it does not say what the tool takes")
    return {**schema, "type": "object"}


def _output_schema(raw: JsonObject) -> JsonObject | None:
    schema = raw.get("outputSchema")
    if schema is None:
        return None
    if not isinstance(schema, dict):
        raise _Fault("/outputSchema", f"the output schema must be an object, not {_kind(schema)}")
    _compiled(schema, "/outputSchema")
    return schema


def _compiled(schema: JsonObject, pointer: str) -> None:
    try:
        Checker.compile(schema)
    except ToolError as error:
        raise _Fault(pointer, error.message) from error


def _icons(raw: JsonObject, repairs: list[Repair]) -> tuple[JsonObject, ...]:
    icons = raw.get("icons")
    if icons is None:
        return ()
    listed = icons if isinstance(icons, list) else [icons]
    good = tuple(i for i in listed if isinstance(i, dict) and isinstance(i.get("src"), str))
    if len(good) < len(listed):
        repairs.append(Repair("/icons", "icons without 'src' were dropped"))
    return good


def _object_or_empty(raw: JsonObject, key: str, repairs: list[Repair]) -> JsonObject:
    value = raw.get(key)
    if value is None or isinstance(value, dict):
        return value or {}
    repairs.append(Repair(f"/{key}", f"dropped, because it is not an object but {_kind(value)}"))
    return {}


def _hints(annotations: Json, repairs: list[Repair]) -> dict[str, bool | None]:
    if annotations is None:
        return {}
    if not isinstance(annotations, dict):
        repairs.append(Repair("/annotations", "dropped, because they are not an object"))
        return {}
    hints: dict[str, bool | None] = {}
    for key, name in _HINTS.items():
        value = annotations.get(key)
        if value is None or isinstance(value, bool):
            hints[name] = value
        else:
            repairs.append(Repair(f"/annotations/{key}", "is neither true nor false and counts as unknown"))
    return hints


def _kind(value: Json) -> str:
    return "null" if value is None else type(value).__name__
