"""Looking through the ledger, and the word of somebody who looked what a lost call did."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.registry.ledger_cribs import Office
from toolcrib_protocol.errors import CONFLICT, INVALID_SETTINGS, ToolError
from toolcrib_registry.ledger_settling import OWNER_ENDED, listed, settle
from toolcrib_registry.memory_ledger import MemoryLedger
from toolcrib_registry.ports import EntryState, LedgerEntry

NOW = 1_000.0
OWNERS = Office("me", dead={"gone"})
MINE = LedgerEntry("1", "ann", "k", "shop/order", "1.0.0", "d", "me", NOW + 9, NOW)


async def book(*entries: LedgerEntry) -> MemoryLedger:
    store = MemoryLedger()
    for entry in entries:
        await store.begin(entry)
    return store


async def names(store: MemoryLedger, *, only_unknown: bool) -> dict[str, EntryState]:
    found = await listed(store, OWNERS, NOW, limit=9, only_unknown=only_unknown)
    return {entry.id: entry.state for entry in found}


@pytest.mark.promise("cli-ledger")
async def test_a_call_of_a_dead_owner_is_listed_as_lost_and_one_under_way_is_not() -> None:
    store = await book(
        MINE,
        replace(MINE, id="2", key=None, owner="gone"),
        replace(MINE, id="3", key="silent", lease=NOW),
        replace(MINE, id="4", key="done"),
    )
    await store.finish("4", b"", NOW)
    running, done, unknown = EntryState.RUNNING, EntryState.DONE, EntryState.UNKNOWN

    assert await names(store, only_unknown=False) == {
        "1": running, "2": unknown, "3": unknown, "4": done,
    }  # fmt: skip
    assert await names(store, only_unknown=True) == {"2": unknown, "3": unknown}
    (lost, *_) = await listed(store, OWNERS, NOW, limit=9, only_unknown=True)
    assert lost.why == OWNER_ENDED


@pytest.mark.promise("cli-ledger")
@pytest.mark.parametrize(
    ("was_done", "key", "left"),
    [(True, "k", EntryState.DONE), (False, "k", None), (True, None, None), (False, None, None)],
)
async def test_a_settled_call_with_a_key_that_was_done_stays_done_all_others_leave(
    key: str | None, left: EntryState | None, *, was_done: bool
) -> None:
    store = await book(replace(MINE, key=key, owner="gone"))
    settled = await settle(store, OWNERS, NOW, key or "1", caller=None, was_done=was_done)
    states = list((await names(store, only_unknown=False)).values())

    assert settled.state is EntryState.UNKNOWN
    assert states == ([] if left is None else [left])


@pytest.mark.promise("cli-ledger")
async def test_what_still_runs_is_not_there_or_is_two_cannot_be_settled() -> None:
    store = await book(
        MINE,
        replace(MINE, id="2", key="both", owner="gone"),
        replace(MINE, id="3", key="both", owner="gone", caller="bob"),
    )
    told: list[ToolError] = []
    for named, caller in (("k", None), ("nobody", None), ("both", None), ("both", "eve")):
        with pytest.raises(ToolError) as refused:
            await settle(store, OWNERS, NOW, named, caller=caller, was_done=True)
        told.append(refused.value)

    assert [error.code for error in told] == [CONFLICT, *[INVALID_SETTINGS] * 3]
    assert "ann, bob" in told[2].message
    assert (await settle(store, OWNERS, NOW, "both", caller="bob", was_done=True)).id == "3"
