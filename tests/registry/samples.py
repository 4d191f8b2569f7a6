"""Records of tests: small, written by us, with everything in them that stores find hard to keep."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.call_rules import CallRules, RuleScope, ScopeKind, WhenFull
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.overlay import Laid, Overlay
from toolcrib_protocol.tool import Contract
from toolcrib_protocol.version import Version
from toolcrib_registry.changes import (
    AddVersion,
    AllocateName,
    AskAgain,
    Change,
    PutDeclaration,
    PutGroup,
    PutOverlay,
    PutProfile,
    PutRules,
    PutSource,
    SetHead,
    SetQuarantine,
    SetStatus,
)
from toolcrib_registry.records import (
    DeclarationRecord,
    EndpointMode,
    GroupRecord,
    OverlayRecord,
    ProfileRecord,
    QuarantineRecord,
    RulesRecord,
    SourceKind,
    SourceRecord,
    StatusRecord,
    VersionRecord,
)

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject

NOW: Final = "2026-01-01T00:00:00+00:00"
ACTIVE: Final = StatusRecord("active", "", NOW)
RETIRED: Final = StatusRecord("retired", "its time was over", NOW)
ODD_TEXT: Final = "nul \x00, lone \ud800, \\u0041, \\\\, quote \" and ' and %s :name, 漢字 🧰"
ODD_TITLE: Final = ODD_TEXT.replace("\ud800", "")
"""Odd text that an overlay may have."""
ODD_JSON: Final[JsonObject] = {
    "z": 9_007_199_254_740_993_123,
    "a": [ODD_TEXT, -(2**64), 1e-7, None, True, {}],
    ODD_TEXT: {"": []},
}


def version(
    name: str = "send", number: str = "1.0.0", *, group: str = "mail", text: str = "Send a letter."
) -> VersionRecord:
    """A version of `group/name`, provided by the source `group`."""
    contract = Contract(
        group=group, name=name, version=Version.parse(number), description=text, meta=ODD_SCHEMA
    )
    return VersionRecord.of(contract, group, name, {"name": name, "description": text})


ODD_SCHEMA: Final[JsonObject] = {"const": 9_007_199_254_740_993_123}


def named(record: VersionRecord) -> AllocateName:
    """The allocation of the plain name of a record's tool."""
    return AllocateName(record.tool, f"{record.tool.group}__{record.tool.name}"[:64])


def published(record: VersionRecord) -> list[Change]:
    """All that makes a version answer: name, version, status, head."""
    return [named(record), *next_version(record)]


def next_version(record: VersionRecord) -> list[Change]:
    """All that makes another version of a tool answer."""
    return [
        AddVersion(record),
        SetStatus(record.tool, record.version, ACTIVE),
        SetHead(record.tool, record.version),
    ]


def source(name: str = "mail", spec: JsonObject | None = None) -> SourceRecord:
    """A source."""
    return SourceRecord(name, SourceKind.MCP, {"command": name} if spec is None else spec, name)


ODD: Final = VersionRecord.of(
    Contract(group="mail", name="odd \x00 \\ 漢字"), "mail", ODD_TEXT, {"raw": ODD_JSON}
)


def overlaid() -> VersionRecord:
    """The next version of the odd tool, made by an overlay."""
    contract = ODD.offered.model_copy(update={"title": ODD_TITLE})
    laid = ODD.with_overlay(Laid(contract, ODD_JSON, (ODD_TEXT, "k"), (ODD_TEXT,)))
    return replace(laid, version=Version(2))


def everything() -> list[Change]:
    """One change of each kind that adds, with odd text wherever others may write text."""
    record, laid = version(), overlaid()
    return [
        *everything_of_the_first_schema(),
        PutProfile(ProfileRecord("plain")),
        PutProfile(
            ProfileRecord(
                "careful",
                ODD_TEXT,
                ODD_TEXT,
                ("mail", "later"),
                (ODD.tool, record.tool),
                EndpointMode.FULL,
                2.5,
                3,
            )
        ),
        PutOverlay(OverlayRecord(record.tool, Overlay(title=ODD_TITLE, read_only=False))),
        PutOverlay(OverlayRecord(ODD.tool, Overlay(presets=ODD_JSON, hidden=True))),
        AddVersion(laid),
        SetStatus(laid.tool, laid.version, ACTIVE),
        PutDeclaration(DeclarationRecord("team", (("source", "mail"), ("group", ODD_TEXT)))),
        AskAgain("mail", 3),
        PutRules(
            RulesRecord(
                RuleScope(ScopeKind.TOOL, str(ODD.tool)),
                CallRules(retries=0, equivalents=("mail/a",), when_full=WhenFull.REJECT),
            )
        ),
        PutRules(RulesRecord(RuleScope(ScopeKind.GROUP, "later"), CallRules(calls_per_second=2.5))),
    ]


def everything_of_the_first_schema() -> list[Change]:
    """What a database could hold from the beginning."""
    record = version()
    entry = QuarantineRecord("mail", 3, ODD_TEXT, "/inputSchema", ODD_TEXT, ODD_JSON)
    members = (ToolId("mail", "b"), ToolId("mail", "a"), ODD.tool)
    return [
        PutSource(source("mail", ODD_JSON)),
        PutGroup(GroupRecord("mail", ODD_TEXT, ODD_TEXT)),
        PutGroup(GroupRecord("favourites", members=members, refuses_unknown_arguments=False)),
        *published(record),
        AllocateName(ODD.tool, "mail__odd"),
        AddVersion(ODD),
        SetStatus(ODD.tool, ODD.version, StatusRecord("held", ODD_TEXT, NOW)),
        SetQuarantine("mail", (entry, QuarantineRecord("mail", 3, None, "", "twice"))),
    ]
