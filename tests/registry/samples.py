"""Records of tests: small, written by us, with everything in them that stores find hard to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.names import ToolId
from toolcrib_protocol.tool import Contract
from toolcrib_protocol.version import Version
from toolcrib_registry.changes import (
    AddVersion,
    AllocateName,
    Change,
    PutGroup,
    PutProfile,
    PutSource,
    SetHead,
    SetQuarantine,
    SetStatus,
)
from toolcrib_registry.records import (
    EndpointMode,
    GroupRecord,
    ProfileRecord,
    QuarantineRecord,
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


def everything() -> list[Change]:
    """One change of each kind that adds, with odd text wherever others may write text."""
    record = version()
    odd = VersionRecord.of(
        Contract(group="mail", name="odd \x00 \\ 漢字"), "mail", ODD_TEXT, {"raw": ODD_JSON}
    )
    entry = QuarantineRecord("mail", 3, ODD_TEXT, "/inputSchema", ODD_TEXT, ODD_JSON)
    members = (ToolId("mail", "b"), ToolId("mail", "a"), odd.tool)
    return [
        PutSource(source("mail", ODD_JSON)),
        PutGroup(GroupRecord("mail", ODD_TEXT, ODD_TEXT)),
        PutGroup(GroupRecord("favourites", members=members, refuses_unknown_arguments=False)),
        PutProfile(ProfileRecord("plain")),
        PutProfile(
            ProfileRecord(
                "careful",
                ODD_TEXT,
                ODD_TEXT,
                ("mail", "later"),
                (odd.tool, record.tool),
                EndpointMode.FULL,
                2.5,
                3,
            )
        ),
        *published(record),
        AllocateName(odd.tool, "mail__odd"),
        AddVersion(odd),
        SetStatus(odd.tool, odd.version, StatusRecord("held", ODD_TEXT, NOW)),
        SetQuarantine("mail", (entry, QuarantineRecord("mail", 3, None, "", "twice"))),
    ]
