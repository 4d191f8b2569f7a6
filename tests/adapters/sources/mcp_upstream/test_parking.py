"""Parked calls: how long they wait, how many, and how they end."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING

import anyio
import pytest

from toolcrib_adapters.sources.mcp_upstream.conversation import Conversation
from toolcrib_adapters.sources.mcp_upstream.failures import RequestError
from toolcrib_adapters.sources.mcp_upstream.parking import HERE, ParkedCall, ParkingLot
from toolcrib_protocol.errors import AT_CAPACITY, CALL_NOT_HERE, ToolError
from toolcrib_registry.interaction import ELICITATION, Interaction, Question
from toolcrib_registry.patience import Patience

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from toolcrib_protocol.json_value import JsonObject

CALLER = Interaction({"elicitation": {}})
QUESTION = Question(ELICITATION, {"message": "Who?"})


@dataclass
class Office:
    """A lot, and an upstream that asks one question in every call."""

    lot: ParkingLot
    cancelled: anyio.Event = field(default_factory=anyio.Event)

    def call(self) -> ParkedCall:
        return self.lot.start(self._converse, self._carry)

    def _converse(self, call: ParkedCall) -> Conversation:
        return Conversation("ask", replace(CALLER, ask=call.ask), Patience(inf))

    async def _carry(self, call: ParkedCall) -> JsonObject | None:
        return await call.conversation.carry(self._upstream(call))

    async def _upstream(self, call: ParkedCall) -> JsonObject:
        try:
            answer = await call.conversation.answer(QUESTION)
        finally:
            self.cancelled.set()
        return {"answer": answer}


@asynccontextmanager
async def office(seconds: float = 30.0, most: int = 2) -> AsyncIterator[Office]:
    lot = ParkingLot("desk", seconds=seconds, most=most)
    async with lot.open():
        with anyio.fail_after(30):
            yield Office(lot)


@pytest.mark.promise("interaction-parked")
async def test_a_parked_call_goes_on_with_the_answer() -> None:
    async with office() as made:
        call = made.call()
        assert await call.turn() is None
        (key,) = call.requests
        made.lot.returned(call.id, HERE).take({key: {"action": "accept"}, "other": {}})
        assert await call.turn() == {"answer": {"action": "accept"}}
        assert call.is_over


@pytest.mark.promise("interaction-parked")
async def test_a_call_that_nobody_comes_back_for_is_cancelled_at_the_upstream() -> None:
    async with office(seconds=0.0) as made:
        call = made.call()
        assert await call.turn() is None
        await made.cancelled.wait()
        while not call.is_over:
            await anyio.lowlevel.checkpoint()
        with pytest.raises(ToolError, match="does not wait any more") as told:
            made.lot.returned(call.id, HERE)
        assert told.value.code == CALL_NOT_HERE


@pytest.mark.promise("interaction-parked")
async def test_only_so_many_calls_wait() -> None:
    async with office(most=1) as made:
        assert await made.call().turn() is None
        second = made.call()
        assert await second.turn() == {"answer": None}
        refusal = second.conversation.refusal
        assert refusal is not None
        assert refusal.code == AT_CAPACITY


@pytest.mark.promise("interaction-parked")
async def test_a_call_is_cancelled_with_its_caller_and_with_its_connection() -> None:
    async with office() as made:
        call = made.call()
        await call.turn()
        call.cancel()
        await made.cancelled.wait()
    async with office() as closing:
        await closing.call().turn()
    assert closing.cancelled.is_set()
    with pytest.raises(RequestError, match="Connection closed"):
        closing.call()


async def test_a_failure_of_the_upstream_is_the_callers() -> None:
    async def fail(_call: ParkedCall) -> JsonObject | None:
        raise RequestError(-1, "no")

    async with office() as made:
        call = made.lot.start(made._converse, fail)
        with pytest.raises(RequestError, match="no"):
            await call.turn()
