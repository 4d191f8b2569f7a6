"""Calls that change something: written down first, done once for a key, honest when lost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import pytest

from tests.registry.cribs import raw_tool
from tests.registry.ledger_cribs import Street, order
from toolcrib_protocol.call_meta import REPLAYED_META
from toolcrib_protocol.errors import (
    ANSWER_NOT_KEPT,
    AT_CAPACITY,
    INVALID_JSON,
    KEY_CONFLICT,
    OUTCOME_UNKNOWN,
    SOURCE_DISCONNECTED,
    SOURCE_UNAVAILABLE,
    STORE_BUSY,
    STORE_UNAVAILABLE,
    TOOL_FAILED,
    TOOL_TIMED_OUT,
    ErrorKind,
    ToolError,
)
from toolcrib_protocol.interim import InputRequired, StartedTask
from toolcrib_protocol.result import Result, Status
from toolcrib_protocol.tool import Behaviour, Contract, IdempotencyKey, KeyPlace
from toolcrib_registry.ledger import LEASE_SECONDS, RENEW_SECONDS
from toolcrib_registry.memory_ledger import MemoryLedger
from toolcrib_registry.permissions import Caller
from toolcrib_registry.ports import EntryState, LedgerEntry

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Sequence

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.call import Call
    from toolcrib_registry.calls import Calls
    from toolcrib_registry.ports import CallContext

ALL = frozenset(EntryState)
PATIENCE = 30
LOST = ToolError(SOURCE_DISCONNECTED, "the connection ended", ErrorKind.RETRYABLE)
KEYED = Contract(
    group="shop",
    name="order",
    behaviour=Behaviour(idempotency_key=IdempotencyKey(place=KeyPlace.META, name="k")),
)


@pytest.fixture
def street(tmp_path: pathlib.Path) -> Street:
    """One shop, one ledger, no crib yet."""
    return Street(tmp_path)


async def entries(street: Street, *states: EntryState) -> Sequence[LedgerEntry]:
    return await street.store.entries(states or ALL, 100)


def code(result: Result) -> str:
    return "" if result.error is None else result.error.code


@pytest.mark.promise("ledger-once-per-key")
async def test_the_same_call_with_the_same_key_gets_the_first_answer_also_elsewhere(
    street: Street,
) -> None:
    one, other = await street.crib("one"), await street.crib("other")
    first = await one.call(order("k", item="tea", many=2))
    again = await one.call(order("k", many=2, item="tea"))
    there = await other.call(order("k", item="tea", many=2))

    assert [result.data for result in (first, again, there)] == [{"order": 1}] * 3
    assert len(street.shop.orders) == 1
    assert REPLAYED_META not in first.meta
    assert again.meta[REPLAYED_META] == {"at": "2026-01-01T00:00:00+00:00"}


@pytest.mark.promise("ledger-key-conflict")
@pytest.mark.parametrize(
    ("other", "words"),
    [
        (order("k", item="coffee"), "with other arguments"),
        (order("k", item="tea", tool="cancel"), "of shop/order"),
    ],
)
async def test_a_key_that_belongs_to_another_call_is_a_conflict(
    street: Street, other: Call, words: str
) -> None:
    calls = await street.crib()
    await calls.call(order("k", item="tea"))
    refused = await calls.call(other)

    assert refused.error is not None
    assert (refused.error.code, refused.status) == (KEY_CONFLICT, Status.FATAL_ERROR)
    assert words in refused.error.message
    assert len(street.shop.orders) == 1


@pytest.mark.promise("ledger-key-conflict")
async def test_keys_are_each_callers_own_and_never_made_of_arguments(street: Street) -> None:
    calls = await street.crib()
    for caller in ("ann", "bob"):
        await calls.call(replace(order("k", item="tea"), caller=Caller(caller)))
    await calls.call(order(item="tea"))
    await calls.call(order(item="tea"))

    assert len(street.shop.orders) == 4


@pytest.mark.promise("ledger-once-per-key")
async def test_duplicates_of_a_call_under_way_wait_for_its_answer(street: Street) -> None:
    one, other = await street.crib("one"), await street.crib("other")
    street.shop.hold = anyio.Event()
    got: list[Result] = []

    async def call(calls: Calls) -> None:
        got.append(await calls.call(order("k", item="tea")))

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            for calls in (one, one, other, one):
                tasks.start_soon(call, calls)
            await street.shop.came.wait()
            await street.clock.sleeper(0.02)
            street.shop.hold.set()
            while len(got) < 4:
                street.clock.advance(0.25)
                await anyio.lowlevel.checkpoint()

    assert [result.data for result in got] == [{"order": 1}] * 4
    assert len(street.shop.orders) == 1


@pytest.mark.promise("ledger-once-per-key")
async def test_a_duplicate_that_waited_as_long_as_it_may_is_told_to_come_again(
    street: Street,
) -> None:
    calls = await street.crib()
    street.shop.hold = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(calls.call, order("k"))
        await street.shop.came.wait()
        told = await calls.call(replace(order("k"), timeout_seconds=0.01))
        street.shop.hold.set()

    assert told.error is not None
    assert (told.error.code, told.status) == (TOOL_TIMED_OUT, Status.RETRYABLE_ERROR)
    assert "still runs" in told.error.message
    assert (await calls.call(order("k"))).data == {"order": 1}
    assert len(street.shop.orders) == 1


@pytest.mark.promise("ledger-failures-not-kept")
@pytest.mark.parametrize(
    "failure",
    [
        ToolError(SOURCE_UNAVAILABLE, "not connected", ErrorKind.RETRYABLE),
        ToolError(AT_CAPACITY, "full", ErrorKind.RETRYABLE),
        ToolError(TOOL_FAILED, "no such item"),
    ],
)
async def test_failures_that_did_nothing_or_say_what_failed_may_be_tried_again(
    street: Street, failure: ToolError
) -> None:
    calls = await street.crib()
    street.shop.failure = failure
    assert (await calls.call(order("k"))).is_error
    assert (await calls.call(order())).is_error
    assert await entries(street) == []
    street.shop.failure = None
    assert not (await calls.call(order("k"))).is_error


@pytest.mark.promise("ledger-lost-stays-unknown")
@pytest.mark.promise("field-o45-keys")
async def test_a_lost_call_is_not_made_again_until_somebody_settles_it(street: Street) -> None:
    calls = await street.crib()
    street.shop.failure = LOST
    lost = await calls.call(order("k", item="tea"))
    street.shop.failure = None
    again = [await calls.call(order("k", item="tea")) for _ in range(2)]

    assert [code(result) for result in (lost, *again)] == [OUTCOME_UNKNOWN] * 3
    assert {result.status for result in again} == {Status.NEEDS_HUMAN}
    assert "toolcrib ledger settle k" in str(again[0].error)
    assert len(street.shop.orders) == 1
    (entry,) = await entries(street, EntryState.UNKNOWN)
    assert (entry.key, entry.tool, "ended" in entry.why) == ("k", "shop/order", True)

    street.store.forget(entry.id)
    assert (await calls.call(order("k", item="tea"))).data == {"order": 2}


@pytest.mark.promise("ledger-lost-stays-unknown")
async def test_a_call_that_somebody_settled_as_done_is_not_made_again(street: Street) -> None:
    calls = await street.crib()
    street.shop.failure = LOST
    await calls.call(order("k"))
    (entry,) = await entries(street)
    await street.store.finish(entry.id, None, 1.0)
    told = await calls.call(order("k"))

    assert (code(told), told.status) == (ANSWER_NOT_KEPT, Status.FATAL_ERROR)
    assert "carried out" in str(told.error)
    assert len(street.shop.orders) == 1


@pytest.mark.promise("ledger-known-key-goes-again")
async def test_a_lost_call_goes_again_with_its_key_where_the_tool_knows_it(
    tmp_path: pathlib.Path,
) -> None:
    street = Street(tmp_path, offered=(KEYED,))
    calls = await street.crib()
    street.shop.failure = LOST
    lost = await calls.call(order("key"))
    street.shop.failure = None
    again = await calls.call(order("key"))
    third = await calls.call(order("key"))

    assert lost.status is Status.RETRYABLE_ERROR
    assert again.data == third.data == {"order": 2}
    assert [context.meta for context in street.shop.contexts] == [{"k": "key"}] * 2
    (entry,) = await entries(street)
    assert entry.state is EntryState.DONE


@pytest.mark.promise("ledger-dead-owner")
@pytest.mark.parametrize("cannot_tell", [False, True])
async def test_what_a_dead_process_left_behind_is_of_unknown_outcome(
    street: Street, cannot_tell: bool
) -> None:
    one = await street.crib("one")
    other = await street.crib("other", cannot_tell=cannot_tell)
    street.shop.hold = anyio.Event()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one.call, order("k", item="tea"))
            await street.shop.came.wait()
            # Its process was killed: nobody is there to write down how it ended.
            street.store = street.ledgers[1]._store = copy_of(street.store)
            tasks.cancel_scope.cancel()
    if cannot_tell:
        street.clock.advance(LEASE_SECONDS)
    street.dead.add("one")
    told = await other.call(order("k", item="tea"))

    assert code(told) == OUTCOME_UNKNOWN
    assert "process" in str(told.error)
    assert len(street.shop.orders) == 1
    assert len(await entries(street, EntryState.UNKNOWN)) == 1


def copy_of(store: MemoryLedger) -> MemoryLedger:
    copied = MemoryLedger()
    copied._entries.update(store._entries)
    return copied


@pytest.mark.promise("ledger-dead-owner")
async def test_an_owner_that_lives_says_so_again_and_again(street: Street) -> None:
    one, other = await street.crib("one"), await street.crib("other", cannot_tell=True)
    street.shop.hold = anyio.Event()
    got: list[Result] = []

    async def call(calls: Calls) -> None:
        got.append(await calls.call(order("k")))

    with anyio.fail_after(PATIENCE):
        async with street.ledgers[0].writing(), anyio.create_task_group() as tasks:
            tasks.start_soon(call, one)
            await street.shop.came.wait()
            for _ in range(6):
                await street.clock.sleeper(RENEW_SECONDS)
                street.clock.advance(RENEW_SECONDS)
                await anyio.lowlevel.checkpoint()
            tasks.start_soon(call, other)
            await street.clock.sleeper(0.02)
            street.shop.hold.set()
            while len(got) < 2:
                street.clock.advance(0.25)
                await anyio.lowlevel.checkpoint()
    assert [result.data for result in got] == [{"order": 1}] * 2


@pytest.mark.promise("ledger-lost-stays-unknown")
async def test_a_call_that_was_broken_off_after_it_was_sent_is_of_unknown_outcome(
    street: Street,
) -> None:
    calls = await street.crib()
    street.shop.hold = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(calls.call, order("k"))
        tasks.start_soon(calls.call, order())
        await street.shop.came.wait()
        await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()

    assert {entry.key for entry in await entries(street, EntryState.UNKNOWN)} == {"k", None}


async def test_a_call_that_was_broken_off_before_it_was_sent_leaves_nothing(
    street: Street,
) -> None:
    calls = await street.crib()
    reached = anyio.Event()

    async def waits(*_: object) -> Result:
        reached.set()
        await anyio.sleep_forever()
        raise AssertionError

    ledger = street.ledgers[0]
    calls._carried = lambda work: ledger.carry(work, waits)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(calls.call, order("k"))
        await reached.wait()
        assert len(await entries(street, EntryState.RUNNING)) == 1
        tasks.cancel_scope.cancel()
    assert await entries(street) == []


@pytest.mark.promise("ledger-intent-first")
async def test_a_write_is_in_the_ledger_while_it_is_sent_and_a_read_never_is(
    street: Street,
) -> None:
    calls = await street.crib()
    seen: list[int] = []

    async def counted(arguments: JsonObject, context: CallContext) -> Result:
        seen.append(len(await entries(street, EntryState.RUNNING)))
        return await take(arguments, context)

    take, street.shop.take = street.shop.take, counted  # type: ignore[method-assign]
    calls = await street.crib()
    for tool in ("order", "set", "look"):
        await calls.call(order(tool=tool))
        await calls.call(order("k" + tool, tool=tool))

    assert seen == [1, 1, 1, 1, 0, 0]
    # Only what has a key is kept.
    assert {entry.key for entry in await entries(street)} == {"korder", "kset"}


async def test_a_lost_call_without_a_key_stays_for_a_person_unless_repeating_it_is_harmless(
    street: Street,
) -> None:
    calls = await street.crib()
    street.shop.failure = LOST
    await calls.call(order())
    await calls.call(order(tool="set"))
    (entry,) = await entries(street)
    assert (entry.state, entry.tool, entry.key) == (EntryState.UNKNOWN, "shop/order", None)


class Broken(MemoryLedger):
    """A ledger on a disk that is full, or so slow that nothing comes back."""

    def __init__(self, *, slow: bool = False, late: bool = False) -> None:
        super().__init__()
        self.slow = slow
        self.late = late

    async def begin(self, entry: LedgerEntry) -> LedgerEntry | None:
        if self.late:
            return await super().begin(entry)
        if self.slow:
            await super().begin(entry)
            await anyio.sleep_forever()
        raise ToolError(STORE_UNAVAILABLE, "crib.db: disk is full", ErrorKind.NEEDS_HUMAN)

    async def finish(self, entry_id: str, answer: bytes | None, at: float) -> None:
        raise ToolError(STORE_UNAVAILABLE, "crib.db: disk is full", ErrorKind.NEEDS_HUMAN)


@pytest.mark.promise("ledger-intent-first")
async def test_what_cannot_be_written_down_is_not_sent(tmp_path: pathlib.Path) -> None:
    street = Street(tmp_path, store=Broken())
    calls = await street.crib()
    told = await calls.call(order())
    read = await calls.call(order(tool="look"))

    assert (code(told), told.status) == (STORE_UNAVAILABLE, Status.NEEDS_HUMAN)
    assert "not made" in str(told.error)
    assert not read.is_error
    assert len(street.shop.orders) == 1


@pytest.mark.promise("ledger-intent-first")
async def test_what_is_not_written_down_in_time_is_not_sent(tmp_path: pathlib.Path) -> None:
    street = Street(tmp_path, store=Broken(slow=True))
    calls = await street.crib()
    told = await calls.call(replace(order("k"), timeout_seconds=0.01))

    assert (code(told), told.status) == (STORE_BUSY, Status.RETRYABLE_ERROR)
    assert street.shop.orders == []
    assert await entries(street) == []


async def test_an_answer_that_cannot_be_written_down_is_delivered_all_the_same(
    tmp_path: pathlib.Path,
) -> None:
    street = Street(tmp_path, store=Broken(late=True))
    calls = await street.crib()
    assert (await calls.call(order("k"))).data == {"order": 1}
    (entry,) = await entries(street)
    assert entry.state is EntryState.RUNNING


async def test_arguments_that_json_cannot_write_are_refused(tmp_path: pathlib.Path) -> None:
    street = Street(tmp_path, offered=(raw_tool("order", {"item": {}}),))
    calls = await street.crib()
    told = await calls.call(order("k", item=float("nan")))
    assert code(told) == INVALID_JSON
    assert street.shop.orders == []


async def test_a_question_is_not_the_end_of_a_call_and_a_started_task_is(street: Street) -> None:
    calls = await street.crib()
    street.shop.answer = Result.asking("shop/order", InputRequired({"q": {"method": "x"}}))
    await calls.call(order("asked"))
    assert await entries(street) == []
    task = StartedTask({"taskId": "t-1", "status": "working"})
    street.shop.answer = Result.started(task)
    await calls.call(order("task"))
    again = await calls.call(order("task"))

    assert again.interim == task
    assert len(street.shop.orders) == 2


@pytest.mark.promise("ledger-known-key-goes-again")
async def test_of_two_that_send_a_lost_call_again_one_does(
    tmp_path: pathlib.Path,
) -> None:
    class Overtaken(MemoryLedger):
        """A ledger in which somebody else is quicker, once."""

        async def take_over(self, found: LedgerEntry, entry: LedgerEntry) -> bool:
            if found.id != "theirs":
                theirs = replace(entry, id="theirs", owner="other")
                await super().take_over(found, theirs)
                await self.finish("theirs", None, 1.0)
            return False

    street = Street(tmp_path, offered=(KEYED,), store=Overtaken())
    calls = await street.crib()
    street.shop.failure = LOST
    await calls.call(order("key"))
    again = await calls.call(order("key"))

    assert code(again) == ANSWER_NOT_KEPT
    assert len(street.shop.orders) == 1


async def test_an_idle_crib_has_nothing_to_renew(street: Street) -> None:
    await street.crib()
    with anyio.fail_after(PATIENCE):
        async with street.ledgers[0].writing():
            for _ in range(2):
                await street.clock.sleeper(RENEW_SECONDS)
                street.clock.advance(RENEW_SECONDS)
            await street.clock.sleeper(RENEW_SECONDS)
    assert await entries(street) == []
