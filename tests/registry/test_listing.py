"""What a source lists becomes the catalogue, entry by entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.registry.cribs import LATER, NOW, listed, memory_catalogue, raw_tool
from toolcrib_protocol.errors import UNKNOWN_SOURCE, ToolError
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.tool import Contract, Deprecation
from toolcrib_protocol.version import Version
from toolcrib_registry.changes import AllocateName, PutGroup, SetStatus
from toolcrib_registry.listing import Listing, accept_listing
from toolcrib_registry.records import GroupRecord, QuarantineRecord, StatusRecord
from toolcrib_registry.retirement import NOT_LISTED, REPLACED, SOURCE_REMOVED, remove_source
from toolcrib_registry.snapshot import Snapshot

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json

SEARCH = ToolId("prod", "search")


def contract(name: str = "send", *, text: str = "Send.", **more: object) -> Contract:
    return Contract.model_validate({"group": "mail", "name": name, "description": text, **more})


@pytest.mark.promise("field-o01-same-name")
async def test_two_sources_with_one_tool_name_keep_both_whatever_their_order() -> None:
    names = []
    for order in (("stage", "prod"), ("prod", "stage")):
        catalogue = await memory_catalogue()
        for source in order:
            await listed(catalogue, source, raw_tool("search"))
        tools = catalogue.snapshot.tools
        names.append({str(tool): record.published_name for tool, record in tools.items()})
    assert names[0] == names[1] == {"stage/search": "stage__search", "prod/search": "prod__search"}


@pytest.mark.promise("field-o01-same-name")
async def test_removing_one_source_leaves_the_other_with_the_same_tool_name_untouched() -> None:
    catalogue = await memory_catalogue()
    for source in ("stage", "prod"):
        await listed(catalogue, source, raw_tool("search"))
    before = catalogue.snapshot.tools[SEARCH]
    after = await catalogue.change(lambda snapshot: remove_source(snapshot, "stage", LATER))
    assert after.tools[SEARCH] == before
    assert after.tools[ToolId("stage", "search")].head is None
    assert "stage" not in after.sources
    assert "stage" not in after.groups


@pytest.mark.promise("field-o03-names-are-looked-up")
async def test_published_names_stay_when_another_source_comes_and_route_by_table() -> None:
    catalogue = await memory_catalogue()
    names = ["get-catalog-entity", "kb-search", "-lead", "trail-"]
    await listed(catalogue, "kb", *(raw_tool(name) for name in names))
    before = dict(catalogue.snapshot.by_published_name)
    await listed(catalogue, "kb-get", raw_tool("catalog-entity"))
    after = catalogue.snapshot
    assert before.items() <= after.by_published_name.items()
    for published, tool in before.items():
        assert after.resolve(after.identify(published)).upstream_name == tool.name


@pytest.mark.promise("field-o04-one-bad-tool")
async def test_bad_entries_are_quarantined_with_pointer_and_reason_and_their_siblings_live() -> (
    None
):
    catalogue = await memory_catalogue()
    bad: list[Json] = [
        {"name": "a", "inputSchema": {}},
        {"name": "b", "inputSchema": None},
        {"name": "c", "inputSchema": {"type": "string"}},
        {"inputSchema": {"type": "object"}},
        "no object at all",
    ]
    after = await listed(catalogue, "up", raw_tool("good"), *bad)
    assert [record.tool.name for record in after.live_tools()] == ["good"]
    quarantined = after.quarantined["up"]
    assert [(e.position, e.name) for e in quarantined] == [
        (1, "a"),
        (2, "b"),
        (3, "c"),
        (4, None),
        (5, None),
    ]
    assert all(entry.reason for entry in quarantined)
    assert [entry.pointer for entry in quarantined][:4] == [
        "/inputSchema", "/inputSchema", "/inputSchema/type", "/name",
    ]  # fmt: skip


async def test_a_name_listed_twice_is_used_once() -> None:
    catalogue = await memory_catalogue()
    after = await listed(
        catalogue, "up", raw_tool("one"), raw_tool("one", {"a": {"type": "string"}})
    )
    assert [entry.position for entry in after.quarantined["up"]] == [1]
    assert "twice" in after.quarantined["up"][0].reason


async def test_the_same_list_again_changes_nothing() -> None:
    catalogue = await memory_catalogue()
    entries: tuple[Json | Contract, ...] = (raw_tool("one"), {"name": "bad"}, contract())
    first = await listed(catalogue, "up", *entries)
    again = await listed(catalogue, "up", *entries, now=LATER)
    assert again is first


async def test_an_entry_that_is_not_json_is_judged_although_its_name_is_known() -> None:
    catalogue = await memory_catalogue()
    await listed(catalogue, "up", raw_tool("send"))
    after = await listed(catalogue, "up", {**raw_tool("send"), "weight": float("nan")})
    assert [entry.name for entry in after.quarantined["up"]] == ["send"]
    assert after.tools[ToolId("up", "send")].head is None


@pytest.mark.promise("sources-odd-entries-alone")
async def test_what_is_kept_of_a_refused_entry_can_be_stored_and_stays_the_same() -> None:
    endless: Json = "bottom"
    for _ in range(100_000):
        endless = [endless]
    catalogue = await memory_catalogue()
    odd: list[Json] = [{"name": "a", "weight": float("nan")}, {"name": "b", "weight": endless}]
    first = await listed(catalogue, "up", raw_tool("good"), *odd)
    assert [entry.raw for entry in first.quarantined["up"]] == [
        {"name": "a", "weight": "NaN"},
        {"entry": "nested too deeply to be kept"},
    ]
    assert await listed(catalogue, "up", raw_tool("good"), *odd, now=LATER) is first


async def test_a_list_without_its_faults_clears_the_quarantine() -> None:
    catalogue = await memory_catalogue()
    await listed(catalogue, "up", {"name": "bad"})
    after = await listed(catalogue, "up", raw_tool("bad"))
    assert after.quarantined == {}


@pytest.mark.promise("catalogue-versions-never-change")
async def test_another_text_is_a_patch_and_the_old_version_still_answers() -> None:
    catalogue = await memory_catalogue()
    await listed(catalogue, "mail", contract(text="Send."))
    after = await listed(catalogue, "mail", contract(text="Send a letter."), now=LATER)
    tool = after.tools[ToolId("mail", "send")]
    assert sorted(map(str, tool.versions)) == ["1.0.0", "1.0.1"]
    assert tool.head_version == Version(1, 0, 1)
    assert tool.is_callable(Version(1, 0, 0))
    assert tool.versions[Version(1, 0, 0)].contract.description == "Send."


@pytest.mark.promise("catalogue-versions-never-change")
async def test_a_schema_that_refuses_what_was_right_is_a_new_major_and_the_old_is_retired() -> None:
    catalogue = await memory_catalogue()
    await listed(catalogue, "up", raw_tool("one", {"a": {"type": "integer"}}))
    after = await listed(catalogue, "up", raw_tool("one", {"a": {"type": "string"}}), now=LATER)
    tool = after.tools[ToolId("up", "one")]
    assert tool.head_version == Version(2, 0, 0)
    assert tool.statuses[Version(1, 0, 0)] == StatusRecord("retired", REPLACED, LATER)


@pytest.mark.promise("versions-by-comparison")
async def test_a_schema_that_takes_more_is_a_minor_and_the_old_one_still_answers() -> None:
    catalogue = await memory_catalogue()
    await listed(catalogue, "up", raw_tool("one"))
    after = await listed(catalogue, "up", raw_tool("one", {"a": {"type": "string"}}), now=LATER)
    tool = after.tools[ToolId("up", "one")]
    assert tool.head_version == Version(1, 1, 0)
    assert tool.is_callable(Version(1, 0, 0))


@pytest.mark.promise("versions-declared")
async def test_a_declared_version_that_rises_too_little_is_refused_with_the_reasons() -> None:
    def at(version: str, **properties: object) -> Contract:
        schema = {"type": "object", "properties": properties}
        return contract(version=version, input_schema=schema)

    catalogue = await memory_catalogue()
    await listed(catalogue, "mail", at("1.0.0", to={"type": "string"}))
    refused = await listed(catalogue, "mail", at("1.1.0", to={"type": "integer"}))
    reason = refused.quarantined["mail"][0].reason
    assert "at /to: string before, integer now" in reason
    assert "declare 2.0.0 or above" in reason
    many = {f"p{number}": {"type": "integer"} for number in range(6)}
    more = await listed(catalogue, "mail", at("1.0.1", to={"type": "string"}, **many))
    assert "and 3 more" in more.quarantined["mail"][0].reason
    fine = await listed(catalogue, "mail", at("1.1.0", to={"type": "string"}, **many))
    assert fine.tools[ToolId("mail", "send")].head_version == Version(1, 1)
    # Whether another pattern takes less could not be decided: that is the author's to say.
    one, two = ({"type": "string", "pattern": text} for text in ("^a+$", "^aa*$"))
    await listed(catalogue, "mail", at("2.0.0", to=one))
    claimed = await listed(catalogue, "mail", at("2.0.1", to=two))
    assert claimed.tools[ToolId("mail", "send")].head_version == Version(2, 0, 1)


async def test_a_contract_that_comes_back_answers_under_its_old_version() -> None:
    catalogue = await memory_catalogue()
    old, new = (raw_tool("one", {"a": {"type": name}}) for name in ("integer", "string"))
    for entry in (old, new, old):
        after = await listed(catalogue, "up", entry)
    tool = after.tools[ToolId("up", "one")]
    assert tool.head_version == Version(1, 0, 0)
    assert tool.statuses[Version(2, 0, 0)].reason == REPLACED


async def test_a_text_that_is_taken_back_answers_under_its_old_version() -> None:
    catalogue = await memory_catalogue()
    for text in ("Send.", "Send a letter.", "Send."):
        after = await listed(catalogue, "mail", contract(text=text))
    tool = after.tools[ToolId("mail", "send")]
    assert tool.head_version == Version(1, 0, 0)
    assert tool.statuses[Version(1, 0, 1)].reason == REPLACED


async def test_a_tool_that_is_no_longer_listed_is_retired_and_comes_back_with_its_name() -> None:
    catalogue = await memory_catalogue()
    await listed(catalogue, "up", raw_tool("one"), raw_tool("two"))
    gone = await listed(catalogue, "up", raw_tool("two"), now=LATER)
    tool = gone.tools[ToolId("up", "one")]
    assert tool.head is None
    assert tool.statuses[Version(1, 0, 0)] == StatusRecord("retired", NOT_LISTED, LATER)
    back = await listed(catalogue, "up", raw_tool("one"), raw_tool("two"))
    assert back.tools[tool.id].head is not None
    assert back.tools[tool.id].published_name == tool.published_name


async def test_a_deprecated_contract_is_listed_as_such_also_after_it_was_away() -> None:
    catalogue = await memory_catalogue()
    old = contract(deprecation=Deprecation(note="use post"))
    await listed(catalogue, "mail", old)
    await listed(catalogue, "mail")
    after = await listed(catalogue, "mail", old)
    statuses = after.tools[old.id].statuses
    assert [status.status for status in statuses.values()] == ["deprecated"]


async def test_a_version_that_a_person_yanked_stays_yanked_when_the_source_lists_it() -> None:
    catalogue = await memory_catalogue()
    await listed(catalogue, "up", raw_tool("one"))
    one = ToolId("up", "one")
    yanked = StatusRecord("yanked", "it lies", LATER)
    await catalogue.change(lambda _: [SetStatus(one, Version(1), yanked)])
    after = await listed(catalogue, "up", raw_tool("one"))
    assert after.tools[one].statuses[Version(1)] == yanked
    assert after.tools[one].head is None


async def test_a_tool_that_is_not_listed_keeps_a_head_that_nobody_may_call() -> None:
    catalogue = await memory_catalogue()
    for text in ("Send.", "Send a letter."):
        await listed(catalogue, "mail", contract(text=text))
    send = ToolId("mail", "send")
    yanked = StatusRecord("yanked", "it lies", LATER)
    await catalogue.change(lambda _: [SetStatus(send, Version(1, 0, 1), yanked)])
    after = await listed(catalogue, "mail")
    assert after.tools[send].head_version == Version(1, 0, 1)
    assert after.tools[send].statuses[Version(1)].reason == NOT_LISTED
    assert after.tools[send].statuses[Version(1, 0, 1)] == yanked


async def test_a_name_that_was_allocated_before_any_version_begins_with_the_first() -> None:
    catalogue = await memory_catalogue()
    send = ToolId("mail", "send")
    await catalogue.change(lambda _: [AllocateName(send, "mail__send")])
    after = await listed(catalogue, "mail", contract())
    assert after.tools[send].head_version == Version(1)


async def test_declared_versions_are_kept_and_may_not_be_reused_or_go_back() -> None:
    catalogue = await memory_catalogue()
    await listed(catalogue, "mail", contract(version="1.4.0"))
    reused = await listed(catalogue, "mail", contract(version="1.4.0", text="Other."))
    assert "declare a version above it" in reused.quarantined["mail"][0].reason
    older = await listed(catalogue, "mail", contract(version="1.3.0"))
    assert "1.3.0" in older.quarantined["mail"][0].reason
    raised = await listed(catalogue, "mail", contract(version="2.0.0"))
    assert raised.tools[ToolId("mail", "send")].head_version == Version(2)
    same = await listed(catalogue, "mail", contract(version="2.0.0"))
    assert same.tools[ToolId("mail", "send")].head_version == Version(2)


@pytest.mark.promise("catalogue-one-provider")
async def test_a_second_source_may_not_take_over_a_tool_that_is_provided() -> None:
    catalogue = await memory_catalogue()
    await listed(catalogue, "first", contract(), group="mail")
    after = await listed(catalogue, "second", contract(text="Mine."), group="mail")
    head = after.tools[ToolId("mail", "send")].head
    assert head is not None
    assert head.source == "first"
    assert "'first' already" in after.quarantined["second"][0].reason


async def test_a_tool_whose_source_was_removed_may_be_taken_over_as_a_new_version() -> None:
    catalogue = await memory_catalogue()
    await listed(catalogue, "first", contract(), group="mail")
    gone = await catalogue.change(lambda snapshot: remove_source(snapshot, "first", LATER))
    assert gone.tools[ToolId("mail", "send")].statuses[Version(1)].reason == SOURCE_REMOVED
    after = await listed(catalogue, "second", contract(), group="mail")
    head = after.tools[ToolId("mail", "send")].head
    assert head is not None
    assert head.source == "second"
    assert after.tools[ToolId("mail", "send")].head_version == Version(1, 0, 1)


async def test_the_home_group_takes_its_description_from_the_source_until_it_has_one() -> None:
    catalogue = await memory_catalogue()
    after = await listed(catalogue, "up", raw_tool("one"))
    assert after.groups["up"] == GroupRecord("up", "Title", "What it is for.")
    mine = GroupRecord("up", "Mine", "")
    await catalogue.change(lambda _: [PutGroup(mine)])
    filled = await listed(catalogue, "up", raw_tool("one"))
    assert filled.groups["up"] == GroupRecord("up", "Mine", "What it is for.")


async def test_a_group_with_other_members_or_sources_outlives_a_removed_source() -> None:
    catalogue = await memory_catalogue()
    await listed(catalogue, "first", contract("one"), group="mail")
    await listed(catalogue, "second", contract("two"), group="mail")
    shared = await catalogue.change(lambda snapshot: remove_source(snapshot, "first", NOW))
    assert "mail" in shared.groups
    other = ToolId("files", "read")
    await catalogue.change(lambda _: [PutGroup(GroupRecord("mail", "", "", (other,)))])
    kept = await catalogue.change(lambda snapshot: remove_source(snapshot, "second", NOW))
    assert "mail" in kept.groups


async def test_removing_a_source_takes_its_quarantine_along_and_an_unknown_one_is_named() -> None:
    catalogue = await memory_catalogue()
    await listed(catalogue, "upstream", {"name": "bad"})
    after = await catalogue.change(lambda snapshot: remove_source(snapshot, "upstream", NOW))
    assert after.quarantined == {}
    await listed(catalogue, "upstream")
    with pytest.raises(ToolError, match="upstream") as refused:
        await catalogue.change(lambda snapshot: remove_source(snapshot, "upstraem", NOW))
    assert refused.value.code == UNKNOWN_SOURCE


def test_a_list_of_a_source_that_is_gone_is_passed_over() -> None:
    assert accept_listing(Snapshot(), Listing("gone", (raw_tool("one"),)), NOW) == []


async def test_entries_that_the_source_judged_itself_are_quarantined_too() -> None:
    catalogue = await memory_catalogue()
    await listed(catalogue, "up")
    entry = QuarantineRecord("up", 7, None, "", "unreadable")
    listing = Listing("up", (), quarantined=(entry,))
    after = await catalogue.change(lambda snapshot: accept_listing(snapshot, listing, NOW))
    assert after.quarantined["up"] == (entry,)


async def test_two_names_that_spell_alike_in_one_list_get_two_published_names() -> None:
    catalogue = await memory_catalogue()
    long = "synchronise_all_customer_records_across_every_regional_cluster_"
    after = await listed(catalogue, "up", raw_tool(long + "a"), raw_tool(long + "b"))
    assert len(after.by_published_name) == 2
