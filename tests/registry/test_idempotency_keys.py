"""Keys that make repeating harmless: whose they are, and how they reach a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.registry.cribs import NOW, listed, memory_catalogue
from tests.registry.providers import MemoryProvider, MemoryProviders
from toolcrib_protocol.errors import (
    INVALID_ARGUMENTS,
    OUTCOME_UNKNOWN,
    SOURCE_DISCONNECTED,
    ErrorKind,
    ToolError,
)
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.overlay import Overlay
from toolcrib_protocol.result import Result
from toolcrib_protocol.tool import Behaviour, Contract, IdempotencyKey, KeyPlace
from toolcrib_registry.argument_digest import argument_digest
from toolcrib_registry.call import Call
from toolcrib_registry.calls import Calls
from toolcrib_registry.overlaying import put_overlay
from toolcrib_registry.publishing import register
from toolcrib_registry.records import SourceKind, SourceRecord
from toolcrib_registry.stages import Path

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.ports import CallContext
    from toolcrib_registry.stages import Onward
    from toolcrib_registry.work import Work

TEXT: JsonObject = {"type": "string"}
HTTP: JsonObject = {"transport": "http", "url": "http://127.0.0.1:1/mcp"}
STDIO: JsonObject = {"transport": "stdio", "command": "x"}


def order(place: KeyPlace, name: str = "request_id", more: JsonObject | None = None) -> Contract:
    """A tool that orders something, and knows a call again by its key."""
    properties: JsonObject = {"item": TEXT}
    if place is KeyPlace.ARGUMENT:
        properties["request_id"] = {**TEXT, **(more or {})}
    return Contract(
        group="shop",
        name="order",
        input_schema={"type": "object", "properties": properties, "additionalProperties": False},
        behaviour=Behaviour(
            read_only=False, idempotency_key=IdempotencyKey(place=place, name=name)
        ),
    )


class Shop:
    """Calls over one source with that tool, and what it was called with."""

    def __init__(self) -> None:
        self.contexts: list[CallContext] = []
        self.provider = MemoryProvider({"order": self.take})
        self.failure: ToolError | None = None
        self.catalogue: Catalogue

    async def take(self, arguments: JsonObject, context: CallContext) -> Result:
        self.contexts.append(context)
        if self.failure is not None:
            raise self.failure
        return Result(data=arguments, has_data=True)

    async def opened(self, contract: Contract, spec: JsonObject = HTTP) -> Calls:
        catalogue = self.catalogue = await memory_catalogue()
        await listed(catalogue, "shop", contract, now=NOW)
        await register(catalogue, SourceRecord("shop", SourceKind.MCP, spec, "shop"))
        return Calls(catalogue, MemoryProviders({"shop": self.provider}))

    @property
    def arguments(self) -> list[JsonObject]:
        return [arguments for _, arguments in self.provider.called]


@pytest.mark.promise("ledger-key-travels")
async def test_a_callers_key_goes_where_the_contract_says() -> None:
    in_argument, in_header, in_meta = Shop(), Shop(), Shop()
    call = Call("shop/order", {"item": "tea"}, key="k-1", meta={"traceparent": "t"})

    calls = await in_argument.opened(order(KeyPlace.ARGUMENT))
    await calls.call(call)
    calls = await in_header.opened(order(KeyPlace.HEADER, "Idempotency-Key"))
    await calls.call(call)
    calls = await in_meta.opened(order(KeyPlace.META, "shop.example/key"))
    await calls.call(call)

    assert in_argument.arguments == [{"item": "tea", "request_id": "k-1"}]
    assert in_header.arguments == in_meta.arguments == [{"item": "tea"}]
    assert in_header.contexts[0].own_headers == {"Idempotency-Key": "k-1"}
    assert in_meta.contexts[0].meta == {"traceparent": "t", "shop.example/key": "k-1"}
    assert in_meta.contexts[0].own_headers == in_argument.contexts[0].own_headers == {}


@pytest.mark.promise("ledger-key-travels")
async def test_a_call_without_a_key_gets_one_of_its_own_where_one_can_travel() -> None:
    shop = Shop()
    calls = await shop.opened(order(KeyPlace.ARGUMENT))
    await calls.call(Call("shop/order", {"item": "tea"}))
    await calls.call(Call("shop/order"))

    one, other = (str(arguments["request_id"]) for arguments in shop.arguments)
    assert len(one) == len(other) == 16
    assert one != other


@pytest.mark.promise("ledger-key-travels")
@pytest.mark.parametrize(
    "schema",
    [{"pattern": "^ORD-"}, {"maxLength": 10}, {"minLength": 40}, {"type": "integer"}],
)
async def test_a_made_key_is_left_out_where_it_might_not_fit(schema: JsonObject) -> None:
    shop = Shop()
    calls = await shop.opened(order(KeyPlace.ARGUMENT, more=schema))
    result = await calls.call(Call("shop/order", {"item": "tea"}))

    assert not result.is_error
    assert shop.arguments == [{"item": "tea"}]


@pytest.mark.promise("ledger-key-travels")
async def test_a_key_that_the_caller_put_in_its_place_stays() -> None:
    shop = Shop()
    calls = await shop.opened(order(KeyPlace.ARGUMENT))
    await calls.call(Call("shop/order", {"request_id": "mine"}, key="other"))
    assert shop.arguments == [{"request_id": "mine"}]


@pytest.mark.parametrize(
    ("contract", "spec"),
    [
        (order(KeyPlace.ARGUMENT, "unheard_of"), HTTP),
        (order(KeyPlace.HEADER, "Idempotency-Key"), STDIO),
        (order(KeyPlace.HEADER, "Idempotency-Key"), {**HTTP, "transport": "sse"}),
    ],
)
async def test_a_key_that_cannot_travel_is_not_sent(contract: Contract, spec: JsonObject) -> None:
    shop = Shop()
    calls = await shop.opened(contract, spec)
    shop.failure = ToolError(SOURCE_DISCONNECTED, "gone", ErrorKind.RETRYABLE)
    result = await calls.call(Call("shop/order", {"item": "tea"}, key="k-1"))

    assert shop.arguments == [{"item": "tea"}]
    assert shop.contexts[0].own_headers == {}
    assert result.error is not None
    assert result.error.code == OUTCOME_UNKNOWN


@pytest.mark.promise("ledger-key-travels")
async def test_a_lost_write_may_be_repeated_by_a_caller_whose_key_the_tool_knows() -> None:
    shop = Shop()
    calls = await shop.opened(order(KeyPlace.ARGUMENT))
    shop.failure = ToolError(SOURCE_DISCONNECTED, "gone", ErrorKind.RETRYABLE)
    with_key = await calls.call(Call("shop/order", key="k-1"))
    in_argument = await calls.call(Call("shop/order", {"request_id": "k-2"}))
    without = await calls.call(Call("shop/order"))

    assert with_key.error is not None
    assert in_argument.error is not None
    assert without.error is not None
    assert with_key.error.kind is in_argument.error.kind is ErrorKind.RETRYABLE
    # The crib's own key is unknown to the caller, so repeating would be another order.
    assert without.error.code == OUTCOME_UNKNOWN


async def test_arguments_that_came_as_text_are_sent_without_a_key() -> None:
    shop = Shop()
    calls = await shop.opened(order(KeyPlace.ARGUMENT))
    result = await calls.call(Call("shop/order", '{"item": "tea"}', key="k"))
    assert not result.is_error
    assert shop.arguments == [{"item": "tea"}]


async def test_what_the_operator_presets_is_no_key() -> None:
    shop = Shop()
    calls = await shop.opened(order(KeyPlace.ARGUMENT))
    overlay = Overlay.read({"presets": {"request_id": "always"}})
    tool = ToolId("shop", "order")
    await shop.catalogue.change(lambda now: put_overlay(now, tool, overlay, NOW))
    shop.failure = ToolError(SOURCE_DISCONNECTED, "gone", ErrorKind.RETRYABLE)
    result = await calls.call(Call("shop/order"))

    assert shop.arguments == [{"request_id": "always"}]
    assert result.error is not None
    assert result.error.code == OUTCOME_UNKNOWN


@pytest.mark.promise("ledger-odd-keys")
@pytest.mark.parametrize("key", ["", " k", "a\nb", "a\0", "x" * 256, "\u2028"])
async def test_what_cannot_be_a_key_is_refused_before_anything_is_called(key: str) -> None:
    shop = Shop()
    calls = await shop.opened(order(KeyPlace.META))
    result = await calls.call(Call("shop/order", key=key))

    assert result.error is not None
    assert result.error.code == INVALID_ARGUMENTS
    assert "nothing was called" in result.error.message
    assert shop.arguments == []


@pytest.mark.promise("ledger-odd-keys")
async def test_a_key_of_other_scripts_travels_where_it_can_and_is_refused_for_a_header() -> None:
    in_meta, in_header = Shop(), Shop()
    call = Call("shop/order", key="Bestellung-Ä-订单")
    calls = await in_meta.opened(order(KeyPlace.META, "k"))
    await calls.call(call)
    calls = await in_header.opened(order(KeyPlace.HEADER, "Idempotency-Key"))
    refused = await calls.call(call)

    assert in_meta.contexts[0].meta == {"k": "Bestellung-Ä-订单"}
    assert refused.error is not None
    assert refused.error.code == INVALID_ARGUMENTS
    assert in_header.arguments == []


@pytest.mark.parametrize("item", ["tea", "coffee"])
async def test_the_key_argument_is_no_part_of_what_tells_calls_apart(item: str) -> None:
    shop, seen = Shop(), list[str]()

    class Notes:
        async def carry(self, work: Work, onward: Onward) -> Result:
            seen.extend([argument_digest(work), argument_digest(work)])
            return await onward(work)

    for contract in (order(KeyPlace.ARGUMENT), order(KeyPlace.ARGUMENT, more={"minLength": 99})):
        await shop.opened(contract)
        providers = MemoryProviders({"shop": shop.provider})
        calls = Calls(shop.catalogue, providers, path=Path((Notes(),)))
        await calls.call(Call("shop/order", {"item": item}))

    assert len(set(seen)) == 1
    assert len(shop.arguments[0]) == 2
    assert shop.arguments[1] == {"item": item}
