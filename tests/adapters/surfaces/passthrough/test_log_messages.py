"""What sources log, and who gets it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp_types import LOG_LEVEL_META_KEY, LoggingMessageNotification

from tests.adapters.surfaces.passthrough.hall import CALLERS, UPSTREAMS, Heard, hall

if TYPE_CHECKING:
    from mcp.client.client import Client

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def said(heard: Heard) -> list[Any]:
    return [message.params.data["said"] for message in heard.of(LoggingMessageNotification)]


async def call(client: Client, caller: str, level: str | None, **arguments: Any) -> None:
    """Call the tool that logs, wanting messages of `level`."""
    meta: Any = {}
    if level is not None and caller == "legacy":
        await client.session.set_logging_level(level)  # type: ignore[arg-type]
    elif level is not None:
        meta = {LOG_LEVEL_META_KEY: level}
    await client.call_tool("desk__log", arguments, meta=meta or None)


@pytest.mark.promise("pass-logs")
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("caller", CALLERS)
async def test_a_call_brings_the_log_messages_that_its_caller_wants(
    caller: str, upstream: str
) -> None:
    heard = Heard()
    async with (
        hall(desk=upstream) as made,
        made.client(caller, http=True, logging_callback=None, message_handler=heard) as client,
    ):
        await call(client, caller, "warning")
        await heard.until(lambda told: len(said(told)) == 2)
        if caller == "modern":
            await call(client, caller, None)
        await call(client, caller, "debug")
        await heard.until(lambda told: len(said(told)) == 6)
    assert said(heard) == ["warning", "error", "debug", "info", "warning", "error"]
    assert heard.of(LoggingMessageNotification)[0].params.logger == "desk"


@pytest.mark.promise("pass-logs")
@pytest.mark.parametrize("upstream", ["http", "http legacy"])
async def test_log_messages_go_to_the_caller_of_their_own_call(upstream: str) -> None:
    one, other = Heard(), Heard()
    async with (
        hall(desk=upstream) as made,
        made.client("legacy", http=True, message_handler=one) as first,
        made.client("modern", http=True, message_handler=other) as second,
        anyio.create_task_group() as tasks,
    ):
        await first.session.set_logging_level("error")

        async def log(client: Client, words: str) -> None:
            meta: Any = {LOG_LEVEL_META_KEY: "error"} if client is second else None
            for _ in range(5):
                await client.call_tool("desk__log", {"said": words}, meta=meta)

        tasks.start_soon(log, first, "first")
        tasks.start_soon(log, second, "second")
        await one.until(lambda told: len(said(told)) == 5)
        await other.until(lambda told: len(said(told)) == 5)
    assert (set(said(one)), set(said(other))) == ({"first"}, {"second"})


@pytest.mark.promise("pass-logs")
async def test_what_belongs_to_no_call_goes_to_the_older_clients_that_asked_for_messages() -> None:
    wanting, silent = Heard(), Heard()
    async with (
        hall(desk="http legacy") as made,
        made.client("legacy", message_handler=wanting) as client,
        made.client("legacy", message_handler=silent),
    ):
        await client.session.set_logging_level("error")
        await made.call("desk", "log", **{"at large": True})
        await wanting.until(lambda told: "error" in said(told))
    assert (said(wanting), said(silent)) == (["error"], [])


@pytest.mark.promise("pass-meta")
@pytest.mark.parametrize("upstream", ["http", "stdio legacy"])
@pytest.mark.parametrize("caller", CALLERS)
async def test_of_the_meta_of_a_caller_only_the_trace_travels_on(
    caller: str, upstream: str
) -> None:
    meta: Any = {
        "traceparent": TRACE,
        "tracestate": "a=b",
        "baggage": "k=v",
        "secret": "x",
        "other.example/key": 1,
    }
    async with (
        hall(desk=upstream) as made,
        made.client(caller, made.group("desk"), http=True) as client,
    ):
        await client.read_resource("desk://notes", meta=meta)
        seen = await made.seen("desk")
    assert seen["metas"] == [{"traceparent": TRACE, "tracestate": "a=b", "baggage": "k=v"}]
