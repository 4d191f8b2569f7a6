"""One entry of a foreign `tools/list`, judged alone.

It is accepted, repaired and marked, or quarantined with a reason; whatever it does, its siblings
never suffer. Repairs are made only where the meaning is certain. What is not declared stays
unknown. Works on raw JSON: no SDK model stands between an upstream's bytes and this verdict.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.input_repair import Repair, lifted_required, object_root
from toolcrib_protocol.schema import Checker, SchemaBounds, bounds_problem

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject

_LONGEST_NAME: Final = 400
_LONGEST_TEXT: Final = 100_000
_ENTRY_BOUNDS: Final = SchemaBounds(
    characters=3_000_000, depth=150, nodes=150_000, patterns=150_000
)
_HINTS: Final = {
    "readOnlyHint": "read_only",
    "destructiveHint": "destructive",
    "idempotentHint": "idempotent",
    "openWorldHint": "open_world",
}
_TASK_SUPPORT: Final = frozenset({"forbidden", "optional", "required"})


@dataclass(frozen=True, slots=True)
class Adopted:
    """An entry that can be used.

    `input_schema` and `output_schema` are exact (after repairs); the hints are None where nothing
    usable was declared; `raw` is the entry as it came.
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


class _UnusableEntryError(Exception):
    """The entry cannot be used."""

    def __init__(self, pointer: str, reason: str) -> None:
        super().__init__(reason)
        self.pointer = pointer
        self.reason = reason


def judge(raw: Json) -> Adopted | Quarantined:
    """The verdict on one entry. Never raises, whatever JSON the entry is."""
    name = raw.get("name") if isinstance(raw, dict) else None
    readable = name if isinstance(name, str) and _is_name(name) else None
    try:
        return _adopted(raw)
    except _UnusableEntryError as fault:
        return Quarantined(readable, fault.pointer, fault.reason, raw)


def _adopted(raw: Json) -> Adopted:
    if not isinstance(raw, dict):
        raise _UnusableEntryError("", f"an entry must be an object, not {_kind(raw)}")
    problem = bounds_problem(raw, _ENTRY_BOUNDS, "the entry")
    if problem is not None:
        raise _UnusableEntryError("", problem)
    repairs: list[Repair] = []
    name = _name(raw)
    entry = _readable(raw, repairs)
    annotations = entry.get("annotations")
    _check_execution(entry, repairs)
    return Adopted(
        name=name,
        title=_title(entry, annotations, repairs),
        description=_description(entry),
        input_schema=_input_schema(raw, repairs),
        output_schema=_output_schema(raw, repairs),
        raw=raw,
        icons=_icons(entry, repairs),
        meta=_object_or_empty(entry, "_meta", repairs),
        **_hints(annotations, repairs),
        repairs=tuple(repairs),
    )


def _name(raw: JsonObject) -> str:
    name = raw.get("name")
    if not isinstance(name, str) or not name.strip():
        raise _UnusableEntryError("/name", "the entry has no name")
    if len(name) > _LONGEST_NAME:
        raise _UnusableEntryError("/name", f"the name is over {_LONGEST_NAME:,} characters long")
    if not _is_name(name):
        raise _UnusableEntryError("/name", f"the name {name!r} is not Unicode text")
    return name


def _is_name(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_NAME and _is_unicode(name)


def _readable(raw: JsonObject, repairs: list[Repair]) -> JsonObject:
    """The entry without lone surrogates in what is shown: they cannot be sent on any wire.

    They are what is left of an emoji that was cut in half. Schemas are judged as they came.
    """
    shown = {key: value for key, value in raw.items() if not key.endswith("Schema")}
    mended = _mended(shown)
    if mended != shown:
        repairs.append(Repair("", "characters that are cut in half were replaced"))
    return mended if isinstance(mended, dict) else {}


def _mended(value: Json) -> Json:
    if isinstance(value, str):
        return value if _is_unicode(value) else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {str(_mended(name)): _mended(item) for name, item in value.items()}
    return [_mended(item) for item in value] if isinstance(value, list) else value


def _is_unicode(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _description(entry: JsonObject) -> str:
    value = entry.get("description")
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _UnusableEntryError(
            "/description", f"the description must be text, not {_kind(value)}"
        )
    if len(value) > _LONGEST_TEXT:
        raise _UnusableEntryError(
            "/description", f"the description is over {_LONGEST_TEXT:,} characters long"
        )
    return value


def _title(entry: JsonObject, annotations: Json, repairs: list[Repair]) -> str | None:
    """The title; before revision 2025-06-18 it stood among the annotations."""
    title = entry.get("title")
    if title is None and isinstance(annotations, dict):
        title = annotations.get("title")
    if title is None or (isinstance(title, str) and len(title) <= _LONGEST_TEXT):
        return title
    repairs.append(Repair("/title", "was dropped, because it is not a short text"))
    return None


def _input_schema(raw: JsonObject, repairs: list[Repair]) -> JsonObject:
    schema = raw.get("inputSchema")
    if not isinstance(schema, dict):
        what = "must be an object, not " + _kind(schema) if "inputSchema" in raw else "is missing"
        raise _UnusableEntryError("/inputSchema", f"the input schema {what}")
    if not schema:
        raise _UnusableEntryError(
            "/inputSchema", "the input schema is empty: it does not say what the tool takes"
        )
    typed = object_root(schema)
    if typed is None:
        found = f"not {schema['type']!r}" if "type" in schema else "and it describes something else"
        raise _UnusableEntryError(
            "/inputSchema/type", f"the input schema must be of type 'object', {found[:200]}"
        )
    if typed is not schema:
        was = "was missing" if "type" not in schema else f"was {schema['type']!r}"
        repairs.append(Repair("/inputSchema/type", f"{was[:200]} and is taken as 'object'"))
    return _compilable(typed, repairs)


def _compilable(schema: JsonObject, repairs: list[Repair]) -> JsonObject:
    """`schema` if it compiles, or its repaired form if that does."""
    try:
        Checker.compile(schema)
    except ToolError as error:
        # Only a schema within its bounds may be walked.
        lifted = lifted_required(schema) if bounds_problem(schema) is None else schema
        if lifted == schema or not isinstance(lifted, dict):
            raise _UnusableEntryError("/inputSchema", error.message) from error
        _check_compiles(lifted, "/inputSchema")
        repairs.append(
            Repair("/inputSchema", "`required: true` of a property was moved to its object's list")
        )
        return lifted
    return schema


def _output_schema(raw: JsonObject, repairs: list[Repair]) -> JsonObject | None:
    schema = raw.get("outputSchema")
    if schema is None:
        return None
    if not isinstance(schema, dict):
        raise _UnusableEntryError(
            "/outputSchema", f"the output schema must be an object, not {_kind(schema)}"
        )
    _check_compiles(schema, "/outputSchema")
    if schema.get("type") != "object":
        repairs.append(
            Repair(
                "/outputSchema/type",
                "is not 'object': the schema is kept and checks results, but callers of protocol "
                "revisions before 2026-07-28 are not shown it",
            )
        )
    return schema


def _check_compiles(schema: JsonObject, pointer: str) -> None:
    try:
        Checker.compile(schema)
    except ToolError as error:
        raise _UnusableEntryError(pointer, error.message) from error


def _icons(entry: JsonObject, repairs: list[Repair]) -> tuple[JsonObject, ...]:
    icons = entry.get("icons")
    if icons is None:
        return ()
    listed = icons if isinstance(icons, list) else [icons]
    good = tuple(i for i in listed if isinstance(i, dict) and isinstance(i.get("src"), str))
    if len(good) < len(listed):
        repairs.append(Repair("/icons", "icons without 'src' were dropped"))
    return good


def _object_or_empty(entry: JsonObject, key: str, repairs: list[Repair]) -> JsonObject:
    value = entry.get(key)
    if value is None or isinstance(value, dict):
        return value or {}
    repairs.append(Repair(f"/{key}", f"was dropped, because it is not an object: {_kind(value)}"))
    return {}


def _check_execution(entry: JsonObject, repairs: list[Repair]) -> None:
    execution = entry.get("execution")
    if execution is None:
        return
    support = execution.get("taskSupport") if isinstance(execution, dict) else execution
    if support is not None and str(support) not in _TASK_SUPPORT:
        repairs.append(Repair("/execution", "was dropped, because its taskSupport is none we know"))


def _hints(annotations: Json, repairs: list[Repair]) -> dict[str, bool | None]:
    if annotations is None:
        return {}
    if not isinstance(annotations, dict):
        repairs.append(Repair("/annotations", "were dropped, because they are not an object"))
        return {}
    hints: dict[str, bool | None] = {}
    for key, name in _HINTS.items():
        value = annotations.get(key)
        if value is None or isinstance(value, bool):
            hints[name] = value
        else:
            repairs.append(
                Repair(f"/annotations/{key}", "is neither true nor false and counts as unknown")
            )
    if hints.get("read_only") and hints.get("destructive"):
        repairs.append(
            Repair("/annotations", "read-only and destructive contradict each other: both unknown")
        )
        hints |= {"read_only": None, "destructive": None}
    return hints


def _kind(value: Json) -> str:
    return "null" if value is None else type(value).__name__
