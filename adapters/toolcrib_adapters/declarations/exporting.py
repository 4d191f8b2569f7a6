"""Writes the present state of a catalogue as a `crib.toml`.

Applying what was written changes nothing. `${NAME}` is written as it is kept, so no value of the
environment gets into the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_adapters.declarations.toml_text import fits_toml, toml_document
from toolcrib_protocol.json_value import dump_json
from toolcrib_registry.differences import group_facts, profile_facts
from toolcrib_registry.groups import home_of
from toolcrib_registry.records import GroupRecord, SourceKind

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.records import OverlayRecord, SourceRecord
    from toolcrib_registry.snapshot import Snapshot

_HEADER = """\
# Written by `toolcrib export`. `toolcrib apply FILE` makes a crib like this;
# `toolcrib schema` prints the JSON Schema of this file, for editors.
"""
_UNSAID: tuple[Json, ...] = (None, "", [], {})


def crib_document(snapshot: Snapshot) -> JsonObject:
    """The state as the tables of a `crib.toml`."""
    groups = {name: _group(snapshot, group) for name, group in sorted(snapshot.groups.items())}
    tables: dict[str, JsonObject] = {
        "sources": {name: _source(s) for name, s in sorted(snapshot.sources.items())},
        "groups": {name: entry for name, entry in groups.items() if entry is not None},
        "overlays": {
            str(tool): _overlay(record) for tool, record in sorted(snapshot.overlays.items())
        },
        "profiles": {
            name: _said(profile_facts(profile)) | ({"groups": []} if profile.groups == () else {})
            for name, profile in sorted(snapshot.profiles.items())
        },
        "rules": {
            str(scope): record.rules.as_json() for scope, record in sorted(snapshot.rules.items())
        },
    }
    filled: JsonObject = {kind: table for kind, table in tables.items() if table}
    name = next(iter(snapshot.declarations), "crib")
    # A file that says nothing at all is refused when it is read.
    return filled if filled and name == "crib" else {"name": name, **filled}


def crib_text(snapshot: Snapshot) -> str:
    """The state as the text of a `crib.toml`.

    Raises:
        ToolError: `invalid_settings` if TOML cannot hold a part of it.
    """
    return _HEADER + "\n" + toml_document(crib_document(snapshot))


def _source(source: SourceRecord) -> JsonObject:
    spec = _said(source.spec)
    if spec.get("transport") in {"stdio", "http"}:
        # What starts a process or has an address needs no more words.
        del spec["transport"]
    if "entries" in spec or (source.kind is SourceKind.SNAPSHOT and "path" not in spec):
        # As text: entries of others may hold what TOML cannot.
        spec = {"entries": dump_json(source.spec.get("entries"))}
    return spec if source.group == source.name else {**spec, "group": source.group}


def _group(snapshot: Snapshot, group: GroupRecord) -> JsonObject | None:
    """A group as a table; None for a home group about which nothing was said."""
    facts = group_facts(group)
    if group.refuses_unknown_arguments:
        del facts["refuse_unknown_arguments"]
    said = _said(facts)
    if home_of(snapshot, group.name) is not None and not said:
        return None
    return said


def _overlay(record: OverlayRecord) -> JsonObject:
    facts = record.overlay.as_json()
    examples = facts.get("examples")
    for table in (facts, *(examples if isinstance(examples, list) else ())):
        for key in ("presets", "arguments", "degraded"):
            if isinstance(table, dict) and key in table and not fits_toml(table[key]):
                table[key] = dump_json(table[key])
    return facts


def _said(facts: JsonObject) -> JsonObject:
    return {key: value for key, value in facts.items() if value not in _UNSAID}
