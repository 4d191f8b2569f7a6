"""What happens to servers at an address: resets, restarts, forgotten sessions, silence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from tests.adapters.outbound.scripted_server import answer, scripted
from tests.adapters.sources.mcp_upstream.bay import bay, http_server, names, session_server
from toolcrib_adapters.sources.mcp_upstream.retry_after import retry_after_seconds
from toolcrib_protocol.call_meta import STATE_RESET_META
from toolcrib_protocol.errors import (
    SOURCE_DISCONNECTED,
    SOURCE_UNAVAILABLE,
    TOOL_TIMED_OUT,
    ToolError,
)
from toolcrib_registry.ports import SourceStatus

if TYPE_CHECKING:
    from pathlib import Path

    from tests.adapters.sources.mcp_upstream.bay import Bay
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.result import Result

STYLES = ["404", "410", "400", "400-error"]


@pytest.mark.promise("field-o19-lost-session")
@pytest.mark.parametrize("style", STYLES)
async def test_a_call_over_a_forgotten_session_is_made_again_and_says_so_once(
    style: str, tmp_path: Path
) -> None:
    effects = tmp_path / "effects"
    async with session_server(style) as first, bay(first.spec()) as made:
        assert (await made.call("set", k=1)).data == {"k": 1}
        first.process.kill()
        await first.process.wait()
        async with session_server(style, first.port, effects):
            second = await made.call("set", k=2)
            third = await made.call("get")
        assert (second.data, second.meta.get(STATE_RESET_META)) == ({"k": 2}, True)
        assert (third.data, third.meta.get(STATE_RESET_META)) == ({"k": 2}, None)
        # The list was read again first, and the write had its effect once.
        assert effects.read_text().split() == ["list", "set", "get"]
        assert SourceStatus.FAILED not in [state.status for state in made.host.states]


@pytest.mark.promise("field-o19-lost-session")
async def test_everybody_whose_session_is_forgotten_at_the_same_time_is_served(
    tmp_path: Path,
) -> None:
    effects = tmp_path / "effects"
    async with session_server("404") as first, bay(first.spec()) as made:
        await made.call("set", k=1)
        first.process.kill()
        await first.process.wait()
        results: list[Result] = []

        async def write(number: int) -> None:
            results.append(await made.call("set", n=number))

        async with session_server("404", first.port, effects), anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(write, number)
        assert len(results) == 20
        assert sorted(effects.read_text().split()) == ["list", *["set"] * 20]
        assert [STATE_RESET_META in result.meta for result in results].count(True) == 1


@pytest.mark.promise("field-o18-broken-connection")
@pytest.mark.parametrize("style", ["404", "stateless"])
async def test_a_reset_during_one_of_twenty_calls_fails_that_call_only(style: str) -> None:
    async with session_server(style) as server, bay(server.spec()) as made:
        told: list[ToolError] = []
        done: list[int] = []

        async def call(number: int) -> None:
            try:
                await made.call(*(("reset",) if number == 7 else ("wait",)), seconds=0.3)
            except ToolError as error:
                told.append(error)
            else:
                done.append(number)

        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(call, number)
        assert len(done) == 19
        assert [(error.code, error.details) for error in told] == [
            (SOURCE_DISCONNECTED, {"sent": True})
        ]
        assert (await made.call("set", k=1)).data in ({"k": 1}, {})
        assert made.host.states[-1].status is SourceStatus.READY


@pytest.mark.promise("http-failures-told")
@pytest.mark.parametrize("style", ["404", "stateless"])
async def test_what_never_left_says_so(style: str) -> None:
    async with session_server(style) as server, bay(server.spec()) as made:
        server.process.kill()
        await server.process.wait()
        with pytest.raises(ToolError) as told:
            await made.call("get")
        assert told.value.code == SOURCE_UNAVAILABLE
        assert told.value.details["sent"] is False


@pytest.mark.promise("http-failures-told")
async def test_a_server_that_says_nothing_more_is_given_up_at_the_time_limit() -> None:
    async with session_server("stateless") as server, bay(server.spec()) as made:
        with pytest.raises(ToolError) as told:
            await made.call("wait", limit=0.2, seconds=30)
        assert (told.value.code, told.value.details) == (TOOL_TIMED_OUT, {"sent": True})
        assert (await made.call("get")).data == {}


@pytest.mark.promise("http-failures-told")
async def test_a_server_that_wants_to_be_left_alone_is_connected_no_sooner() -> None:
    busy = answer(b"later", "429 Too Many", "Retry-After: 120")
    async with scripted(*[[busy]] * 2) as server:
        spec: JsonObject = {"transport": "http", "url": f"http://127.0.0.1:{server.port}/mcp"}
        async with bay(spec) as made:
            assert made.state.reason.endswith("(HTTP 429)")
            with pytest.raises(ToolError) as told:
                await made.call("get")
            assert told.value.details["http_status"] == 429
            assert told.value.details["retry_after_seconds"] == 120.0


@pytest.mark.promise("http-connections")
async def test_an_answer_to_another_request_is_handed_to_nobody() -> None:
    async with session_server("stateless") as server, bay(server.spec()) as made:
        await expect_odd(made)


async def expect_odd(made: Bay) -> None:
    assert names(made.host.listings[0].entries) == ["set", "get", "wait", "reset", "mixed up"]
    with pytest.raises(ToolError, match="no answer to the request"):
        await made.call("mixed up")


@pytest.mark.promise("mcp-calls-independent")
async def test_progress_and_cancellation_go_over_the_stream_of_their_call() -> None:
    async with http_server("http") as server, bay(server.spec()) as made:
        heard: list[float] = []

        async def report(progress: object) -> None:
            heard.append(progress.progress)  # type: ignore[attr-defined]

        await made.call("progress", on_progress=report, steps=3)
        assert heard == [0.0, 1.0, 2.0]
        with pytest.raises(ToolError):
            await made.call("wait", limit=0.2, who="me")
        with anyio.fail_after(30):
            while (await made.facts("cancelled"))["cancelled"] != ["me"]:
                await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": " 12 "}, 12.0),
        ({"retry-after": "1.5"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "\u0665"}, None),
        ({"retry-after": "9" * 5_000}, 86_400.0),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, 86_400.0),
        ({"retry-after": "Fri, 31 Dec 1999 23:59:59 GMT"}, 0.0),
        ({"retry-after": "Fri, 99 Dec 1999 23:59:59 GMT"}, None),
        (
            {
                "retry-after": "Wed, 21 Oct 2026 07:28:00 -0000",
                "date": "Wed, 21 Oct 2026 07:27:00 GMT",
            },
            60.0,
        ),
    ],
)
def test_how_long_to_wait_is_read_from_seconds_and_moments(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after_seconds(headers) == seconds
