"""Reads a `crib.toml`: checked as a whole before anything is changed.

What is wrong is told with file, line and key, all of it at once. A key that is unknown is warned
about and passed over; a whole table that is unknown is an error, and so is a file that says
nothing: what they were to hold would be taken out. `${NAME}` stays as it is written: sources expand
it when they start.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from toolcrib_adapters.declarations.document import (
    CribFile,
    Limits,
    Policies,
    PythonEntry,
    SnapshotEntry,
)
from toolcrib_adapters.declarations.toml_lines import Lines
from toolcrib_protocol.call_rules import RuleScope
from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError
from toolcrib_protocol.names import Reference, ToolId, nearest
from toolcrib_protocol.overlay import Overlay
from toolcrib_registry.declaring import Declaration, DeclaredGroup
from toolcrib_registry.records import ProfileRecord, SourceKind, SourceRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic_core import ErrorDetails

    from toolcrib_adapters.declarations.document import GroupEntry, ProfileEntry, SourceEntry
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.declaring import DeclarationError

    KeyPath = tuple[str | int, ...]

_MOST_BYTES: Final = 4_000_000
_MOST_TOLD: Final = 20
_UNKNOWN: Final = "extra_forbidden"
_NOBODY: Final = "nobody knows this key"
_EMPTY: Final = (
    "is empty, so everything of an earlier one would be taken out; if that is what you want, let "
    'it say its name: name = "crib"'
)
_TABLES: Final = {
    "source": "sources",
    "group": "groups",
    "overlay": "overlays",
    "profile": "profiles",
    "rules": "rules",
}


@dataclass(frozen=True, slots=True)
class DeclaredCrib:
    """What a file says.

    Attributes:
        file: where it was read.
        lines: where its keys stand.
        declaration: for the catalogue.
        limits: for the endpoint.
        policies: for the endpoint.
        warnings: keys that nobody knows, with file, line and key.
    """

    file: Path
    lines: Lines
    declaration: Declaration
    limits: Limits
    policies: Policies
    warnings: tuple[str, ...] = ()

    def located(self, error: DeclarationError) -> ToolError:
        """The error of a part, with the place where the part stands."""
        kind, name = error.part
        place = _place(self.file, self.lines, (_TABLES[kind], name))
        return ToolError(error.code, f"{place}: {error.message}", error.kind, error.details)


def read_crib_file(file: Path) -> DeclaredCrib:
    """What the file at `file` says.

    Raises:
        ToolError: `invalid_settings`, with file, line and key of everything that is wrong.
    """
    file = file.expanduser().absolute()
    text = _text_of(file)
    lines = Lines(text)
    try:
        # With an end to its last line: the parser tells no line for a fault at the very end.
        document = tomllib.loads(text + "\n")
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ToolError(INVALID_SETTINGS, f"{file}: not valid TOML: {error}") from error
    if not document:
        raise ToolError(INVALID_SETTINGS, f"{file} {_EMPTY}")
    odd = [*_unknown_tables(document), *_odd_values(document)]
    unknown, wrong = _faults(document)
    if odd or wrong:
        told = [f"{_place(file, lines, path)}: {reason}" for path, reason in (*odd, *wrong)]
        raise ToolError(INVALID_SETTINGS, "\n".join(_bounded(told)), details={"problems": [*told]})
    read = CribFile.model_validate(document)
    return DeclaredCrib(
        file,
        lines,
        _declaration(read, file.parent),
        read.limits,
        read.policies,
        tuple(_bounded([f"{_place(file, lines, path)}: {_NOBODY}" for path in unknown])),
    )


def _text_of(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            # Not by its size: a device or a pipe has none, and may never end.
            read = stream.read(_MOST_BYTES + 1)
        if len(read) > _MOST_BYTES:
            raise ToolError(INVALID_SETTINGS, f"{file} is larger than {_MOST_BYTES:,} bytes")
        return read.decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ToolError(INVALID_SETTINGS, f"{file} cannot be read: {error}") from error


def _unknown_tables(document: dict[str, object]) -> list[tuple[KeyPath, str]]:
    """Tables of the file that nobody knows, which are taken out of `document`."""
    unknown = [
        name
        for name, value in document.items()
        if name not in CribFile.model_fields and isinstance(value, dict | list)
    ]
    for name in unknown:
        del document[name]
    return [((name,), _no_table(name)) for name in unknown]


def _no_table(name: str) -> str:
    known = [field for field in CribFile.model_fields if field != "name"]
    meant = nearest(name, known, 1)
    hint = f"did you mean {meant[0]}?" if meant else f"there are {', '.join(known)}"
    return f"nobody knows this table; {hint}"


def _faults(document: dict[str, object]) -> tuple[list[KeyPath], list[tuple[KeyPath, str]]]:
    """Keys that are unknown, which are taken out of `document`, and values that are wrong."""
    try:
        CribFile.model_validate(document)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False, include_context=False)
    else:
        return [], []
    unknown = [_path(fault) for fault in faults if fault["type"] == _UNKNOWN]
    for path in unknown:
        _remove(document, path)
    wrong = [
        (_path(fault), fault["msg"].removeprefix("Value error, "))
        for fault in faults
        if fault["type"] != _UNKNOWN
    ]
    return unknown, wrong


def _path(fault: ErrorDetails) -> KeyPath:
    """Where a fault is, in keys of the file."""
    # Pydantic also names which kind of source it took an entry for, and says `[key]` of a key.
    path = fault["loc"]
    if path[:1] == ("sources",):
        path = (*path[:2], *path[3:])
    return tuple(part for part in path if part != "[key]")


def _remove(document: object, path: KeyPath) -> None:
    *parents, last = path
    here = document
    for part in parents:
        here = here[part]  # type: ignore[index]  # the path leads through what was validated
    del here[last]  # type: ignore[attr-defined]


def _odd_values(value: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Values that TOML has and JSON has not."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _odd_values(item, (*path, key))
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _odd_values(item, (*path, position))
    elif isinstance(value, float) and not math.isfinite(value):
        yield path, f"{value} is not a number that can be sent"
    elif not isinstance(value, str | bool | int | float):
        yield path, "write dates and times as text, in quotes"


def _place(file: Path, lines: Lines, path: Sequence[str | int]) -> str:
    key = ".".join(str(part) for part in path)
    line = lines.of(path)
    return f"{file}:{line}: {key}" if line else f"{file}: {key}"


def _bounded(told: Sequence[str]) -> list[str]:
    more = len(told) - _MOST_TOLD
    return [*told[:_MOST_TOLD], *([f"and {more} more"] if more > 0 else [])]


def _declaration(read: CribFile, folder: Path) -> Declaration:
    return Declaration(
        read.name,
        {name: _source(name, entry, folder) for name, entry in read.sources.items()},
        {name: _group(name, entry) for name, entry in read.groups.items()},
        {
            _tool(text): Overlay.model_validate(entry.model_dump(exclude_unset=True))
            for text, entry in read.overlays.items()
        },
        {name: _profile(name, entry) for name, entry in read.profiles.items()},
        {RuleScope.parse(text): entry for text, entry in read.rules.items()},
    )


def _source(name: str, entry: SourceEntry, folder: Path) -> SourceRecord:
    spec: JsonObject = entry.model_dump(mode="json", exclude_unset=True, exclude={"group"})
    group = entry.group or name
    if isinstance(entry, SnapshotEntry):
        path = None if entry.path is None else _located(entry.path, folder)
        return SourceRecord(
            name, SourceKind.SNAPSHOT, {"path": path, "entries": spec.get("entries")}, group
        )
    if isinstance(entry, PythonEntry):
        target = _located_target(entry.target, folder)
        return SourceRecord(name, SourceKind.PYTHON, {**spec, "target": target}, group)
    spec["transport"] = entry.transport
    cwd = spec.get("cwd")
    if isinstance(cwd, str):
        spec["cwd"] = _located(cwd, folder)
    return SourceRecord(name, SourceKind.MCP, spec, group)


def _located(text: str, folder: Path) -> str:
    """A path as it is seen from the folder of the file; what is expanded later stays."""
    if "${" in text or PurePosixPath(text).is_absolute() or PureWindowsPath(text).is_absolute():
        return text
    return str((folder / Path(text).expanduser()).absolute())


def _located_target(text: str, folder: Path) -> str:
    is_module = all(part.isidentifier() for part in text.split(".")) and not text.endswith(".py")
    return text if is_module and not (folder / text).is_file() else _located(text, folder)


def _tool(text: str) -> ToolId:
    return Reference.parse(text).tool


def _group(name: str, entry: GroupEntry) -> DeclaredGroup:
    members = None if entry.members is None else tuple(map(_tool, entry.members))
    return DeclaredGroup(
        name, entry.title, entry.description, members, entry.refuse_unknown_arguments
    )


def _profile(name: str, entry: ProfileEntry) -> ProfileRecord:
    facts = entry.model_dump(exclude={"pins"})
    return ProfileRecord(name, pins=tuple(map(_tool, entry.pins)), **facts)
