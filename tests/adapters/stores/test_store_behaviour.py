"""What every store does, whatever it is made of."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import anyio
import pytest

from tests.registry.samples import (
    ACTIVE,
    NOW,
    ODD,
    ODD_TEXT,
    RETIRED,
    everything,
    named,
    next_version,
    published,
    source,
    version,
)
from toolcrib_protocol.call_rules import CallRules, RuleScope, ScopeKind
from toolcrib_protocol.errors import CONFLICT, ToolError
from toolcrib_protocol.overlay import Overlay
from toolcrib_protocol.tool import LONGEST_NAME
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.changes import (
    AddVersion,
    AllocateName,
    AskAgain,
    DropDeclaration,
    DropGroup,
    DropOverlay,
    DropProfile,
    DropRules,
    DropSource,
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
from toolcrib_registry.ports import RevisionConflict, SourceState, SourceStatus
from toolcrib_registry.records import (
    DeclarationRecord,
    EndpointMode,
    GroupRecord,
    OverlayRecord,
    ProfileRecord,
    RulesRecord,
)
from toolcrib_registry.snapshot import Snapshot

if TYPE_CHECKING:
    from tests.adapters.stores.opening import Store, Stores
    from toolcrib_registry.changes import Change

HISTORY: tuple[list[Change], ...] = (
    everything(),
    next_version(version("send", "2.0.0", text="Send a parcel.")),
    [PutSource(source("mail", {"command": "other"})), PutGroup(GroupRecord("mail", "Post"))],
    [SetQuarantine("mail", ()), DropGroup("favourites"), PutSource(source("brief"))],
    [PutGroup(GroupRecord("brief")), PutProfile(ProfileRecord("careful", groups=()))],
    [DropProfile("careful"), PutProfile(ProfileRecord("plain", mode=EndpointMode.DYNAMIC))],
    [DropOverlay(ODD.tool), PutOverlay(OverlayRecord(version().tool, Overlay(hidden=True)))],
    [DropRules(RuleScope(ScopeKind.GROUP, "later")), DropRules(RuleScope(ScopeKind.SOURCE, "x"))],
    [PutRules(RulesRecord(RuleScope(ScopeKind.SOURCE, "mail"), CallRules(retries=1)))],
    [PutOverlay(OverlayRecord(ODD.tool, Overlay(title="odd"))), DropOverlay(version().tool)],
    [AskAgain("mail", 4), PutDeclaration(DeclarationRecord("team", ()))],
    [DropOverlay(ODD.tool), DropDeclaration("team"), PutDeclaration(DeclarationRecord("x", ()))],
    [
        SetStatus(version().tool, version().version, RETIRED),
        SetStatus(version().tool, version(number="2.0.0").version, RETIRED),
        SetHead(version().tool, None),
        DropSource("mail"),
        DropSource("brief"),
        DropGroup("brief"),
    ],
    [PutSource(source("brief")), *published(version("read", group="brief"))],
)
"""Commits that between them use every kind of change, put things, replace them and drop them."""


async def test_a_new_store_is_empty(store: Store) -> None:
    assert await store.snapshot() == Snapshot()


@pytest.mark.promise("store-keeps-everything")
async def test_another_door_shows_exactly_what_was_committed(stores: Stores) -> None:
    revision = await stores.open().commit(everything(), 0)

    shown = await stores.open().snapshot()

    assert shown == Snapshot().with_changes(everything(), revision)
    assert [record.contract for record in shown.live_tools()] == [version().contract]


async def test_the_longest_name_a_tool_may_have_fits_every_store(store: Store) -> None:
    # Characters of four bytes that do not compress: a database's index has the least room for them.
    letters = Random(1).choices([chr(code) for code in range(0x20000, 0x2A000)], k=LONGEST_NAME)
    record = version("".join(letters))

    await store.commit([AllocateName(record.tool, "mail__long"), *next_version(record)], 0)

    assert [*(await store.snapshot()).live_tools()] == [record]


@pytest.mark.promise("store-followers-agree")
async def test_a_follower_that_was_away_for_any_time_comes_to_the_same_state(
    stores: Stores,
) -> None:
    writer, reader = stores.open(), stores.open()
    states = [Snapshot()]
    for changes in HISTORY:
        revision = await writer.commit(changes, states[-1].revision)
        states.append(states[-1].with_changes(changes, revision))
        for state in states[-4:]:
            feed = await reader.changes_since(state.revision)
            assert feed is not None
            assert state.with_changes(feed.changes, feed.revision) == states[-1]

    assert await reader.snapshot() == states[-1]


async def test_a_follower_too_far_behind_or_ahead_is_told_to_reload(stores: Stores) -> None:
    store = stores.open()
    for revision, changes in enumerate(HISTORY):
        await store.commit(changes, revision)

    assert await store.changes_since(1) is None
    assert await store.changes_since(len(HISTORY) + 1) is None
    feed = await store.changes_since(len(HISTORY))
    assert feed is not None
    assert feed.changes == ()


@pytest.mark.promise("store-refuses-stale-writers")
async def test_a_writer_that_did_not_see_the_last_commit_writes_nothing(stores: Stores) -> None:
    first, second = stores.open(), stores.open()
    await first.commit([PutSource(source())], 0)

    with pytest.raises(RevisionConflict) as refusal:
        await second.commit([PutSource(source("late"))], 0)

    assert refusal.value.current == 1
    assert list((await second.snapshot()).sources) == ["mail"]


CHANGED = replace(version(text="Something else."), fingerprint="another")


@pytest.mark.promise("versions-never-change")
async def test_a_published_version_may_be_said_again_but_not_differently(store: Store) -> None:
    await store.commit(published(version()), 0)
    before = await store.snapshot()

    await store.commit([*published(version("other")), *published(version())], 1)
    with pytest.raises(ToolError, match=r"1\.0\.0 of mail/send is published") as refusal:
        await store.commit([*published(version("third")), AddVersion(CHANGED)], 2)

    after = await store.snapshot()
    assert refusal.value.code == CONFLICT
    assert sorted(str(tool) for tool in after.tools) == ["mail/other", "mail/send"]
    assert after.tools[version().tool] == before.tools[version().tool]


@pytest.mark.promise("names-never-reused")
@pytest.mark.parametrize(
    "change",
    [
        AllocateName(version("rival").tool, "mail__send"),
        AllocateName(version().tool, "second_name"),
    ],
    ids=["a name of another tool", "a second name for a tool"],
)
async def test_a_published_name_stays_with_its_tool_when_all_else_is_gone(
    store: Store, change: AllocateName
) -> None:
    await store.commit([PutSource(source()), *published(version())], 0)
    gone = SetStatus(version().tool, version().version, RETIRED)
    await store.commit([gone, SetHead(version().tool, None), DropSource("mail")], 1)

    with pytest.raises(ToolError, match="keeps its published name") as refusal:
        await store.commit([change], 2)

    assert refusal.value.code == CONFLICT
    assert (await store.snapshot()).by_published_name == {"mail__send": version().tool}


@pytest.mark.parametrize(
    "change",
    [
        AddVersion(version("nameless")),
        SetStatus(version().tool, version(number="7.0.0").version, ACTIVE),
    ],
    ids=["a version of a tool without a name", "a status of a version there is not"],
)
async def test_what_hangs_on_nothing_is_refused(store: Store, change: Change) -> None:
    await store.commit(published(version()), 0)

    with pytest.raises(ToolError, match="comes first") as refusal:
        await store.commit([change], 1)

    assert refusal.value.code == CONFLICT
    assert (await store.snapshot()).revision == 1


async def test_the_same_change_twice_in_one_commit_is_said_once(store: Store) -> None:
    await store.commit([named(version()), *published(version()), AddVersion(version())], 0)

    assert list((await store.snapshot()).tools) == [version().tool]


async def test_a_waiting_follower_wakes_for_a_commit_through_another_door(stores: Stores) -> None:
    writer, reader = stores.open(), stores.open()
    woken: list[bool] = []

    async def wait() -> None:
        woken.append(await reader.wait_changed(0, timeout_seconds=60))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            await writer.commit([PutSource(source())], 0)

    assert woken == [True, True]


async def test_waiting_ends_at_once_if_the_change_was_before(store: Store) -> None:
    await store.commit([PutSource(source())], 0)

    with anyio.fail_after(30):
        assert await store.wait_changed(0, timeout_seconds=60)


async def test_waiting_ends_without_a_change_when_the_time_is_up(store: Store) -> None:
    assert not await store.wait_changed(0, timeout_seconds=0.05)


@pytest.mark.promise("store-single-writer")
async def test_writers_behind_several_doors_all_succeed_and_agree(stores: Stores) -> None:
    catalogues = [await Catalogue.open(stores.open()) for _ in range(2)]

    async def publish(catalogue: Catalogue, name: str) -> None:
        await catalogue.change(lambda _: published(version(name)))

    async with anyio.create_task_group() as tasks:
        for number in range(40):
            tasks.start_soon(publish, catalogues[number % 2], f"tool{number}")

    first, second = [await catalogue.refresh() for catalogue in catalogues]
    assert len(first.tools) == 40
    assert first == second == await stores.open().snapshot()


@pytest.mark.parametrize("behind", [0, 1, 4], ids=["present", "behind", "too far behind"])
async def test_a_writer_in_its_turn_decides_on_the_newest_state(
    stores: Stores, behind: int
) -> None:
    store = stores.open()
    states = [Snapshot()]
    for number in range(5):
        change = PutSource(source(f"s{number}"))
        await store.commit([change], number)
        states.append(states[-1].with_changes([change], number + 1))
    seen: list[Snapshot] = []

    def decide(newest: Snapshot) -> list[Change]:
        seen.append(newest)
        return published(version())

    after = await store.commit_next(decide, states[-1 - behind])

    assert seen == [states[-1]]
    assert after == states[-1].with_changes(published(version()), 6) == await store.snapshot()


async def test_a_writer_in_its_turn_may_want_nothing_or_refuse(stores: Stores) -> None:
    store = stores.open()
    await store.commit([PutSource(source())], 0)

    def refuse(newest: Snapshot) -> list[Change]:
        raise newest.unknown("a tool")

    newest = await store.commit_next(lambda _: [], Snapshot())
    with pytest.raises(ToolError, match="a tool"):
        await store.commit_next(refuse, newest)

    assert newest == await store.snapshot()
    assert newest.revision == 1


READY = SourceState(SourceStatus.READY, NOW)
FAILED = SourceState(SourceStatus.FAILED, "2026-01-02T00:00:00+00:00", ODD_TEXT, NOW)


async def test_the_board_shows_the_newest_state_of_each_source(stores: Stores) -> None:
    board = stores.open()
    await board.report("one", {"mail": READY, "brief": READY})
    await board.report("two", {"mail": FAILED})
    await board.report("one", {"mail": READY})

    assert await stores.open().reported() == {"mail": FAILED}


async def test_a_crib_that_ends_takes_its_states_from_the_board(stores: Stores) -> None:
    board = stores.open()
    await board.report("one", {"mail": READY})
    await board.report("two", {"mail": FAILED})
    await board.withdraw("two")
    await board.withdraw("never reported")

    assert await board.reported() == {"mail": READY}
    assert (await board.snapshot()).revision == 0


@pytest.mark.promise("store-last-failures")
async def test_how_a_source_failed_last_is_known_until_a_crib_runs_it_again(
    stores: Stores,
) -> None:
    board = stores.open()
    await board.report("one", {"mail": FAILED, "brief": READY})
    assert await board.last_failures() == {}
    await board.withdraw("one")
    await board.report("two", {"brief": READY})
    assert await stores.open().last_failures() == {"mail": FAILED}
    later = replace(FAILED, reason="later")
    await board.report("three", {"mail": later})
    assert await board.last_failures() == {}
    await board.withdraw("three")
    assert await board.last_failures() == {"mail": later}
    await board.report("four", {"mail": READY})
    await board.withdraw("four")
    assert await board.last_failures() == {}
