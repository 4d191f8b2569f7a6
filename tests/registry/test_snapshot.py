"""The catalogue at one revision: what resolves, what is refused and with which words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.registry.samples import (
    ACTIVE,
    NOW,
    ODD_JSON,
    RETIRED,
    everything,
    named,
    next_version,
    published,
    source,
    version,
)
from toolcrib_protocol.errors import (
    CONFLICT,
    INVALID_VERSION,
    NO_SUCH_VERSION,
    UNKNOWN_SOURCE,
    UNKNOWN_TOOL,
    ToolError,
)
from toolcrib_protocol.names import Reference, ToolId
from toolcrib_protocol.tool import Contract
from toolcrib_protocol.version import Version
from toolcrib_registry.changes import (
    AddVersion,
    AllocateName,
    DropDeclaration,
    DropGroup,
    DropOverlay,
    DropProfile,
    DropSource,
    PutGroup,
    PutSource,
    SetHead,
    SetQuarantine,
    SetStatus,
)
from toolcrib_registry.records import GroupRecord, StatusRecord, VersionRecord
from toolcrib_registry.snapshot import Snapshot

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.changes import Change

SEND = version()
MAIL = Snapshot().with_changes(
    [
        PutSource(source()),
        *published(SEND),
        *next_version(version(number="1.1.0", text="Send a letter, kindly.")),
        *next_version(version(number="2.0.0", text="Send anything.")),
        *published(version("read")),
    ],
    1,
)


def after(*changes: Change, before: Snapshot = MAIL) -> Snapshot:
    return before.with_changes(changes, before.revision + 1)


def refusal(text: str, snapshot: Snapshot = MAIL) -> ToolError:
    with pytest.raises(ToolError) as raised:
        snapshot.resolve(snapshot.identify(text))
    return raised.value


def test_changes_give_a_new_snapshot_and_leave_the_old_one() -> None:
    changed = after(PutSource(source("brief")), PutGroup(GroupRecord("brief")))

    assert (MAIL.revision, [*MAIL.sources], [*MAIL.groups]) == (1, ["mail"], [])
    assert (changed.revision, [*changed.sources], [*changed.groups]) == (
        2,
        ["mail", "brief"],
        ["brief"],
    )


def test_a_snapshot_is_written_in_a_few_words_whatever_it_holds() -> None:
    assert repr(MAIL) == f"<Snapshot {MAIL.revision}: {len(MAIL.tools)} tools>"


def test_every_change_may_be_applied_again() -> None:
    once = Snapshot().with_changes(everything(), 1)
    drops: list[Change] = [
        DropSource("mail"),
        DropGroup("favourites"),
        DropProfile("careful"),
        DropOverlay(SEND.tool),
        DropDeclaration("team"),
        SetQuarantine("mail", ()),
    ]

    assert once.with_changes(everything(), 1) == once
    assert after(*drops, *drops, before=once) == after(*drops, before=once)
    assert after(*drops, before=once).quarantined == {}
    assert [*after(*drops, before=once).profiles] == ["plain"]
    assert not after(*drops, before=once).declarations
    assert not after(*drops, before=once).asked


@pytest.mark.parametrize(
    "change",
    [
        AllocateName(version("rival").tool, "mail__send"),
        AllocateName(SEND.tool, "another_name"),
        AddVersion(replace(SEND, upstream_name="other")),
        AddVersion(version("nameless")),
        SetStatus(version("nameless").tool, Version(1), ACTIVE),
        SetStatus(SEND.tool, Version(9), ACTIVE),
        SetHead(SEND.tool, Version(9)),
    ],
)
def test_what_is_published_for_ever_or_missing_is_not_changed(change: Change) -> None:
    with pytest.raises(ToolError) as raised:
        after(change)

    assert raised.value.code == CONFLICT


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("mail__send", "2.0.0"),
        ("mail/send", "2.0.0"),
        ("mail/send@latest", "2.0.0"),
        ("mail/send@^1", "1.1.0"),
        ("mail/send@1.0.0", "1.0.0"),
    ],
)
def test_names_and_references_resolve_to_the_newest_version_they_admit(
    text: str, number: str
) -> None:
    assert str(MAIL.resolve(MAIL.identify(text)).version) == number


def test_without_a_range_the_head_answers_even_if_it_is_not_the_newest() -> None:
    held_back = after(SetHead(SEND.tool, Version(1)))

    assert held_back.resolve(held_back.identify("mail__send")) == SEND


def test_without_a_callable_head_the_newest_callable_version_answers() -> None:
    snapshot = after(SetStatus(SEND.tool, Version(2), RETIRED))

    assert str(snapshot.resolve(Reference(SEND.tool)).version) == "1.1.0"
    assert [str(record.tool) for record in snapshot.live_tools()] == ["mail/read"]


def test_an_unknown_tool_is_refused_with_the_nearest_live_names() -> None:
    error = refusal("mail_sent")

    assert error.code == UNKNOWN_TOOL
    assert error.details == {"nearest": ["mail__send", "mail__read"]}
    assert "'mail_sent'; the nearest names are mail__send, mail__read" in error.message
    assert refusal("brief/send").details == {"nearest": ["mail__send"]}


def test_an_unknown_tool_unlike_all_others_is_refused_with_a_way_to_find_one() -> None:
    message = refusal("zzz").message
    assert message == "no tool is called 'zzz'; a search finds tools by what they do"


def test_a_reference_with_a_bad_range_names_the_range() -> None:
    assert refusal("mail/send@^x").code in {INVALID_VERSION, UNKNOWN_TOOL}


def test_a_version_that_is_not_there_is_refused_with_those_that_are() -> None:
    error = refusal("mail/send@^7")

    assert error.code == NO_SUCH_VERSION
    assert error.details == {"versions": ["1.0.0", "1.1.0", "2.0.0"]}


def test_a_tool_without_callable_versions_says_what_became_of_it() -> None:
    gone = [SetStatus(SEND.tool, number, RETIRED) for number in MAIL.tools[SEND.tool].versions]
    held = SetStatus(ToolId("mail", "read"), Version(1), StatusRecord("held", "", NOW))
    snapshot = after(*gone, held, named(version("empty")))

    assert "retired (its time was over)" in refusal("mail__send", snapshot).message
    assert "held (no reason given)" in refusal("mail__read", snapshot).message
    assert refusal("mail__empty", snapshot).message == "no version of mail/empty may be called"


def test_a_source_is_found_or_refused_with_the_nearest_names() -> None:
    assert MAIL.source("mail") == source()
    with pytest.raises(ToolError, match="did you mean mail") as near:
        MAIL.source("mial")
    with pytest.raises(ToolError, match="toolcrib sources") as far:
        MAIL.source("x")
    assert near.value.code == far.value.code == UNKNOWN_SOURCE


def test_a_group_holds_the_tools_at_home_there_and_those_put_into_it() -> None:
    guests = GroupRecord("mail", members=(ToolId("brief", "open"),))
    snapshot = after(PutGroup(guests))

    home = {SEND.tool, ToolId("mail", "read")}
    assert MAIL.members("mail") == home
    assert snapshot.members("mail") == home | {ToolId("brief", "open")}
    assert snapshot.members("nobody") == frozenset()


def test_live_tools_come_in_the_order_of_their_identity() -> None:
    snapshot = after(*published(version("archive")))

    assert [record.tool.name for record in snapshot.live_tools()] == ["archive", "read", "send"]


def test_a_record_gives_back_the_contract_it_was_made_of() -> None:
    odd: JsonObject = {"z": 2**70, "a": ODD_JSON["a"]}
    contract = Contract(
        group="mail", name="send", version=Version(3), input_schema={"const": 2**70}, meta=odd
    )
    record = VersionRecord.of(contract, "mail", "send", ODD_JSON)

    assert record.contract == contract
    assert record.written.isascii()
    assert record.raw.isascii()
    assert VersionRecord.of(contract, "mail", "send").raw == ""


def test_the_description_of_a_version_is_the_same_before_and_after_its_contract_is_read() -> None:
    record = version(text="Send a letter.")
    assert record.description == "Send a letter."
    assert record.contract.description == record.description
    assert version(text="").description == ""
