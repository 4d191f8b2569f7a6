"""What is exported is read back as it was, whatever is in it."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

from tests.docs_blocks import ROOT
from tests.protocol.json_strategies import json_values
from tests.registry.samples import ODD_TITLE
from toolcrib_adapters.declarations.document import json_schema
from toolcrib_adapters.declarations.exporting import crib_document, crib_text
from toolcrib_adapters.declarations.reading import read_crib_file
from toolcrib_adapters.declarations.toml_text import fits_toml, toml_document
from toolcrib_protocol.call_rules import CallRules, RuleScope
from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.overlay import Overlay
from toolcrib_protocol.schema import Checker
from toolcrib_protocol.tool import DegradedForm
from toolcrib_registry.changes import (
    PutDeclaration,
    PutGroup,
    PutOverlay,
    PutProfile,
    PutRules,
    PutSource,
)
from toolcrib_registry.declaring import declare
from toolcrib_registry.records import (
    DeclarationRecord,
    EndpointMode,
    GroupRecord,
    OverlayRecord,
    ProfileRecord,
    RulesRecord,
    SourceKind,
    SourceRecord,
)
from toolcrib_registry.snapshot import Snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.changes import Change

SEND = ToolId("mail", "send a 漢字 'letter'")
COMMAND: JsonObject = {"command": "C:\\x y\\run.cmd", "args": ["'\"\\", "\t"]}
STDIO: JsonObject = {"transport": "stdio", **COMMAND, "env": {}}
EVERYTHING: list[Change] = [
    PutSource(SourceRecord("one", SourceKind.MCP, {**STDIO, "env": {"T": "${T}"}}, "one")),
    PutSource(
        SourceRecord(
            "two",
            SourceKind.MCP,
            {"transport": "sse", "url": "https://x/${A:-b}", "headers": {"X y": "1"}},
            "other",
        )
    ),
    PutSource(SourceRecord("py", SourceKind.PYTHON, {"target": "package.module"}, "py")),
    PutSource(SourceRecord("file", SourceKind.SNAPSHOT, {"path": "/x", "entries": None}, "file")),
    PutSource(
        SourceRecord(
            "told",
            SourceKind.SNAPSHOT,
            {"path": None, "entries": [{"name": "a", "x": [None, "\ud800"]}]},
            "told",
        )
    ),
    PutSource(
        SourceRecord("nothing", SourceKind.SNAPSHOT, {"path": None, "entries": []}, "nothing")
    ),
    PutGroup(GroupRecord("one", "One", "The first.")),
    PutGroup(GroupRecord("other")),
    PutGroup(GroupRecord("office", members=(SEND,), refuses_unknown_arguments=False)),
    PutGroup(GroupRecord("empty")),
    PutOverlay(
        OverlayRecord(
            SEND,
            Overlay(
                presets={"a": [1, None]}, title=ODD_TITLE, degraded=DegradedForm(result=[None])
            ),
        )
    ),
    PutOverlay(
        OverlayRecord(
            ToolId("a", "b"),
            Overlay(
                presets={"a": 2**70, "b": 1e-7, "c": True, "d": {}, "e f": "\x00"},
                examples=({"arguments": {"x": None}}, {"request": "y", "arguments": {"x": 1}}),
                hidden_arguments=("z",),
                hidden=True,
            ),
        )
    ),
    PutProfile(ProfileRecord("none", groups=())),
    PutRules(
        RulesRecord(
            RuleScope.parse("tool:a/b"),
            CallRules(retries=0, calls_per_second=2.5, equivalents=("a/c", "d/e")),
        )
    ),
    PutProfile(ProfileRecord("all", "All", pins=(SEND,), mode=EndpointMode.FULL)),
]


def written(folder: Path, snapshot: Snapshot) -> Path:
    file = folder / "crib.toml"
    file.write_text(crib_text(snapshot), encoding="utf-8")
    return file


@pytest.mark.promise("config-export")
def test_applying_what_was_exported_changes_nothing(tmp_path: Path) -> None:
    snapshot = Snapshot().with_changes(EVERYTHING, 1)
    declaration = read_crib_file(written(tmp_path, snapshot)).declaration
    assert declare(snapshot, declaration, "now").differences == ()
    # And elsewhere it makes the same.
    there = Snapshot().with_changes(declare(Snapshot(), declaration, "now").changes, 1)
    assert crib_document(there) == crib_document(snapshot)


def test_a_crib_that_a_file_made_is_exported_under_the_name_of_that_file(tmp_path: Path) -> None:
    made = PutDeclaration(DeclarationRecord("team", (("group", "empty"),)))
    snapshot = Snapshot().with_changes([*EVERYTHING, made], 1)
    assert read_crib_file(written(tmp_path, snapshot)).declaration.name == "team"


def test_an_empty_crib_is_exported_as_a_file_that_says_its_name_alone(tmp_path: Path) -> None:
    assert read_crib_file(written(tmp_path, Snapshot())).declaration.parts == frozenset()


@given(json_values)
@settings(max_examples=200)
def test_toml_holds_json_values_or_says_that_it_cannot(value: Json) -> None:
    if not fits_toml(value):
        with pytest.raises(ToolError) as refusal:
            toml_document({"x": [value]})
        assert refusal.value.code == INVALID_SETTINGS
        return
    assert tomllib.loads(toml_document({"x": [value]})) == {"x": [value]}


@pytest.mark.promise("config-schema")
def test_the_published_schema_is_the_one_that_files_are_read_by() -> None:
    published = json.loads((ROOT / "docs" / "crib.schema.json").read_text(encoding="utf-8"))
    assert published == json_schema()


@pytest.mark.promise("config-schema")
def test_what_is_exported_fits_the_published_schema() -> None:
    snapshot = Snapshot().with_changes(EVERYTHING, 1)
    checker = Checker.compile(json_schema())
    document = tomllib.loads(crib_text(snapshot))
    assert checker.check(document) == ()
    assert checker.check({"sources": {"x": {"command": 3}}}) != ()
    assert checker.check({"sauces": {}}) != ()
