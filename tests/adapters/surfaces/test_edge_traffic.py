"""How much the endpoint takes at once, and how it ends."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import anyio
import anyio.abc
import anyio.lowlevel
import httpx2
import pytest

from tests.adapters.surfaces.bench import Bench
from tests.adapters.surfaces.doors import MODERN, call_raw, over_http, post, raw_request
from tests.adapters.surfaces.old_client import message_of, old_client
from toolcrib_adapters.surfaces.edge import request_sizes, session_ledger
from toolcrib_adapters.surfaces.edge.edge import Backstage
from toolcrib_adapters.surfaces.edge.refusals import Refusals
from toolcrib_adapters.surfaces.edge.request_sizes import RequestSizes
from toolcrib_adapters.surfaces.edge.traffic import Traffic
from toolcrib_adapters.surfaces.http_app import HttpSettings, serve_http
from toolcrib_adapters.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.types import Message, Receive, Scope, Send

    from toolcrib_protocol.json_value import JsonObject

PATIENCE = 60


async def until(condition: Callable[[], object]) -> None:
    with anyio.fail_after(PATIENCE):
        while not condition():
            await anyio.lowlevel.checkpoint()


@pytest.mark.promise("edge-request-limits")
async def test_a_body_over_the_limit_is_refused_whether_its_size_is_declared_or_not() -> None:
    bench = await Bench.open()
    settings = HttpSettings(port=0, most_body_bytes=10_000)
    large = raw_request("tools/call", {"name": "play__echo", "arguments": {"a": "x" * 10_000}})

    async def in_pieces() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b"x" * 1_000

    async with over_http(bench.server(), settings) as url, httpx2.AsyncClient() as http:
        declared = await post(http, url, large)
        headers = {"content-type": "application/json", "mcp-protocol-version": MODERN}
        streamed = await http.post(url, content=in_pieces(), headers=headers)
        small = await call_raw(url, "play__echo", {"a": "x" * 5_000})
    assert (declared.status_code, streamed.status_code) == (413, 413)
    assert "10,000 bytes" in declared.json()["error"]["message"]
    assert "--body-limit" in declared.json()["error"]["message"]
    assert small["structuredContent"] == {"a": "x" * 5_000}


@pytest.mark.promise("edge-request-limits")
async def test_headers_over_the_limit_are_refused() -> None:
    bench = await Bench.open()
    async with over_http(bench.server()) as url, httpx2.AsyncClient() as http:
        request = raw_request("tools/list", {})
        many = await post(http, url, request, **{f"x-{n}": "y" * 1_000 for n in range(40)})
        # Beyond what is read at all.
        endless = await http.get(url, headers={"x": "y" * 200_000})
    assert (many.status_code, endless.status_code) == (431, 400)


@pytest.mark.promise("edge-request-limits")
async def test_requests_over_the_limit_of_an_endpoint_are_told_to_come_back() -> None:
    bench = await Bench.open()
    settings = HttpSettings(port=0, most_requests=1)
    async with (
        over_http(bench.server(), settings) as url,
        httpx2.AsyncClient(timeout=PATIENCE) as http,
        anyio.create_task_group() as tasks,
    ):
        alone: JsonObject = {"company": 1}
        tasks.start_soon(call_raw, url, "play__meet", alone)
        await until(bench.playground.meeting.is_set)
        bench.playground.meeting = anyio.Event()
        crowd: JsonObject = {"company": 99}
        tasks.start_soon(call_raw, url, "play__meet", crowd)
        await until(lambda: bench.playground.arrived == 2)
        refused = await post(http, url, raw_request("tools/list", {}))
        bench.playground.meeting.set()
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
    assert "1 requests run here already" in refused.text


@pytest.mark.promise("edge-request-limits")
async def test_made_up_paths_do_not_get_around_the_limit() -> None:
    gate = anyio.Event()

    async def wait(scope: Scope, receive: Receive, send: Send) -> None:
        await gate.wait()

    traffic = Traffic(wait, Refusals(), most_requests=1)
    statuses: list[int] = []

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    async def ask(number: int) -> None:
        scope: Scope = {"type": "http", "method": "POST", "path": f"/{number}", "headers": []}
        await traffic(scope, nothing, send)  # type: ignore[arg-type]

    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(ask, number)
        await until(lambda: len(statuses) == 2)
        gate.set()
    assert statuses == [503, 503]
    assert traffic.requests == 0


@pytest.mark.promise("edge-request-limits")
async def test_one_session_cannot_take_every_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolcrib_adapters.surfaces.edge.sessions.MOST_SESSION_REQUESTS", 2)
    assert session_ledger.MOST_SESSION_REQUESTS == 100
    bench = await Bench.open()
    async with (
        over_http(bench.server()) as url,
        old_client(url) as client,
        anyio.create_task_group() as tasks,
    ):
        waiting: JsonObject = {"company": 3}
        tasks.start_soon(client.call, 2, "play__meet", waiting)
        tasks.start_soon(client.call, 3, "play__meet", waiting)
        await until(lambda: bench.playground.arrived == 2)
        refused = await client.ask(4, "tools/list", {})
        await call_raw(url, "play__meet", {"company": 3})
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "2")


async def asked(app: Callable[[Scope, Receive, Send], object], *parts: Message) -> list[Message]:
    """What an application answers to a POST that arrives in these parts."""
    pending = list(parts)
    answer: list[Message] = []

    async def receive() -> Message:
        if pending:
            return pending.pop(0)
        await anyio.sleep_forever()
        raise AssertionError

    async def send(message: Message) -> None:
        answer.append(message)

    scope: Scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": []}
    served = app(scope, receive, send)
    await served  # type: ignore[misc]
    return answer


async def nothing(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("no request should come here")


def sizes(**limits: float) -> RequestSizes:
    return RequestSizes(nothing, Refusals(), most_body_bytes=100, most_header_bytes=100, **limits)


@pytest.mark.promise("edge-request-limits")
async def test_a_body_that_does_not_come_is_not_waited_for_for_ever() -> None:
    part: Message = {"type": "http.request", "body": b"{", "more_body": True}
    start, _ = await asked(sizes(body_seconds=0.01), part)
    assert start["status"] == 408


async def test_a_client_that_leaves_in_the_middle_of_its_body_is_not_answered() -> None:
    part: Message = {"type": "http.request", "body": b"{", "more_body": True}
    assert await asked(sizes(), part, {"type": "http.disconnect"}) == []


@pytest.mark.promise("edge-request-limits")
async def test_all_bodies_together_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_sizes, "MOST_HELD_BYTES", 10)
    part: Message = {"type": "http.request", "body": b"x" * 20, "more_body": False}
    layer = sizes()
    for _ in range(2):  # what was refused is not held any more
        start, _ = await asked(layer, part)
        assert start["status"] == 503
    monkeypatch.setattr(request_sizes, "MOST_HELD_BYTES", 20)
    with pytest.raises(AssertionError, match="no request should come here"):
        await asked(layer, part)


@pytest.mark.promise("edge-request-limits")
async def test_clients_that_wait_for_news_have_a_limit_of_their_own() -> None:
    bench = await Bench.open()
    traffic = Traffic(nothing, Refusals(), most_streams=0)
    scope: Scope = {"type": "http", "method": "GET", "path": "/mcp", "headers": []}
    answer: list[Message] = []

    async def send(message: Message) -> None:
        answer.append(message)

    await traffic(scope, nothing, send)  # type: ignore[arg-type]
    assert answer[0]["status"] == 503
    assert bench.playground.arrived == 0


async def serving(
    bench: Bench,
    settings: HttpSettings,
    stop: anyio.Event,
    *,
    task_status: anyio.abc.TaskStatus[str],
) -> None:
    backstage = Backstage(bench.calls.interrupt)
    await serve_http(
        bench.server(), settings, backstage=backstage, stop=stop, task_status=task_status
    )


async def ends(url: str) -> None:
    """Return once the server takes no new requests."""
    page = url.replace("/mcp", "/readyz")
    with anyio.fail_after(PATIENCE):
        async with httpx2.AsyncClient() as http:
            while (await http.get(page)).status_code != 503:
                pass


@pytest.mark.promise("edge-drain")
@pytest.mark.parametrize("generation", ["modern", "legacy"])
async def test_a_call_that_does_not_finish_is_answered_by_its_contract_and_nothing_is_broken(
    generation: str, caplog: pytest.LogCaptureFixture
) -> None:
    bench, stop = await Bench.open(), anyio.Event()
    caplog.set_level(logging.INFO)
    answers: list[JsonObject] = []

    async def hang(url: str) -> None:
        if generation == "modern":
            answers.append(await call_raw(url, "play__hang", {}))
            return
        async with old_client(url) as client:
            result = (await client.call(2, "play__hang", {}))["result"]
            assert isinstance(result, dict)
            answers.append(result)

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            settings = HttpSettings(port=0, drain_seconds=0.05)
            url: str = await tasks.start(serving, bench, settings, stop)
            tasks.start_soon(hang, url)
            await bench.playground.hanging.wait()
            stop.set()
            await bench.playground.cancelled.wait()
    assert answers[0]["isError"] is True
    meta = answers[0]["_meta"]
    assert isinstance(meta, dict)
    error = meta["io.toolcrib/error"]
    assert isinstance(error, dict)
    assert (error["code"], error["kind"]) == ("outcome_unknown", "needs_human")
    assert not [r for r in caplog.records if r.exc_info or r.levelno >= logging.ERROR]
    assert "Traceback" not in caplog.text


@pytest.mark.promise("edge-drain")
async def test_while_it_ends_new_requests_are_told_to_come_back_and_streams_end_cleanly(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench, stop = await Bench.open(), anyio.Event()
    ended: list[str] = []

    async def listen(url: str, client: httpx2.AsyncClient) -> None:
        async with client.stream("GET", url) as response:
            ended.append(f"listens {response.status_code}")
            await response.aread()  # raises if it was broken off
            ended.append("ended")

    async def subscribe(url: str) -> None:
        wish: JsonObject = {"notifications": {"toolsListChanged": True}}
        async with httpx2.AsyncClient(timeout=PATIENCE) as http:
            response = await post(http, url, raw_request("subscriptions/listen", wish))
            ended.append("subscription" if "acknowledged" in response.text else response.text)

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks, httpx2.AsyncClient() as http:
            settings = HttpSettings(port=0, drain_seconds=30)
            url: str = await tasks.start(serving, bench, settings, stop)
            async with old_client(url) as client:
                tasks.start_soon(listen, url, client.http)
                tasks.start_soon(subscribe, url)
                await until(lambda: ended)
                pair: JsonObject = {"company": 2}
                tasks.start_soon(client.call, 5, "play__meet", pair)
                await until(lambda: bench.playground.arrived)
                stop.set()
                await ends(url)
                refused = await post(http, url, raw_request("tools/list", {}))
                ready = await http.get(url.replace("/mcp", "/readyz"))
                bench.playground.meeting.set()
                await until(lambda: len(ended) == 3)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
    assert ready.status_code == 503
    assert ready.json()["reasons"] == [{"code": "ending", "text": "this crib is ending"}]
    assert sorted(ended) == ["ended", "listens 200", "subscription"]
    assert "Traceback" not in caplog.text


@pytest.mark.promise("edge-drain")
async def test_while_it_ends_what_belongs_to_a_running_call_still_passes() -> None:
    bench, stop = await Bench.open(), anyio.Event()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            settings = HttpSettings(port=0, drain_seconds=30)
            url: str = await tasks.start(serving, bench, settings, stop)
            async with (
                old_client(url) as client,
                old_client(url) as leaving,
                anyio.create_task_group() as running,
            ):
                running.start_soon(client.call, 5, "play__hang", {})
                await bench.playground.hanging.wait()
                stop.set()
                await ends(url)
                refused = await client.ask(6, "tools/list", {})
                left = await leaving.http.delete(url)
                await client.tell("notifications/cancelled", {"requestId": 5})
                await bench.playground.cancelled.wait()
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
    assert message_of(refused)["id"] == 6
    assert left.status_code == 200


@pytest.mark.promise("edge-drain")
async def test_a_request_that_cannot_be_interrupted_is_ended_with_an_error_of_its_own() -> None:
    bench, stop = await Bench.open(), anyio.Event()
    told: list[httpx2.Response] = []

    async def serve_deaf(*, task_status: anyio.abc.TaskStatus[str]) -> None:
        settings = HttpSettings(port=0, drain_seconds=0.01)
        await serve_http(bench.server(), settings, stop=stop, task_status=task_status)

    async def old(url: str) -> None:
        async with old_client(url) as client:
            params: JsonObject = {"name": "play__hang", "arguments": {}}
            told.append(await client.ask("mine", "tools/call", params))

    async def new(url: str) -> None:
        async with httpx2.AsyncClient(timeout=PATIENCE) as http:
            params: JsonObject = {"name": "play__hang", "arguments": {}}
            told.append(await post(http, url, raw_request("tools/call", params)))

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            url: str = await tasks.start(serve_deaf)
            tasks.start_soon(old, url)
            tasks.start_soon(new, url)
            await until(lambda: len(bench.playground.seen) == 2)
            stop.set()
    by_status = {response.status_code: message_of(response) for response in told}
    assert by_status[200]["id"] == "mine"
    for message in by_status.values():
        error = message["error"]
        assert isinstance(error, dict)
        assert error["message"] == "this crib is ending; ask again in a moment"
    assert sorted(by_status) == [200, 503]


@pytest.mark.promise("edge-numbers")
async def test_numbers_tell_sessions_requests_calls_and_refusals() -> None:
    bench, metrics = await Bench.open(), Metrics(dict)
    bench.calls.observer = metrics
    async with (
        over_http(bench.server(), backstage=Backstage(numbers=metrics)) as url,
        old_client(url) as client,
        httpx2.AsyncClient() as http,
        anyio.create_task_group() as tasks,
    ):
        await client.call(2, "play__echo", {})
        await client.call(3, "play__fail", {})
        await client.call(4, "no_such_tool\n", {})
        await post(http, url, raw_request("tools/list", {}), host="evil.example")
        waiting: JsonObject = {"company": 2}
        tasks.start_soon(client.call, 5, "play__meet", waiting)
        await until(lambda: bench.playground.arrived)
        page = await http.get(url.replace("/mcp", "/metrics"))
        rebound = await http.get(url.replace("/mcp", "/metrics"), headers={"host": "evil.example"})
        await call_raw(url, "play__meet", {"company": 2})
    assert page.headers["content-type"].startswith("text/plain; version=0.0.4")
    for line in (
        "toolcrib_sessions 1.0",
        "toolcrib_requests 1.0",
        'toolcrib_calls_total{source="play",status="success"} 1.0',
        'toolcrib_calls_total{source="play",status="fatal_error"} 1.0',
        'toolcrib_calls_total{source="",status="fatal_error"} 1.0',
        'toolcrib_refused_requests_total{reason="host"} 1.0',
        "toolcrib_call_seconds_count 3.0",
        'toolcrib_sources{state="ready"} 0.0',
    ):
        assert line in page.text.splitlines(), line
    assert rebound.status_code == 421


@pytest.mark.promise("field-o28-forwarding")
@pytest.mark.parametrize("generation", ["modern", "legacy"])
async def test_the_headers_of_the_very_request_travel_with_each_of_its_calls(
    generation: str,
) -> None:
    bench = await Bench.open()
    calls: JsonObject = {"calls": [{"name": "play__echo"}, {"name": "play__echo"}]}
    asks: list[tuple[str, JsonObject]] = [("play__echo", {}), ("call_tool", calls)]
    async with over_http(bench.server()) as url:
        for number, (name, arguments) in enumerate(asks):
            params: JsonObject = {"name": name, "arguments": arguments}
            token = {"x-up-token": f"U{number}"}
            if generation == "modern":
                async with httpx2.AsyncClient() as http:
                    await post(http, url, raw_request("tools/call", params), **token)
            else:
                async with old_client(url) as client:
                    client.http.headers.update(token)
                    await client.call(2, name, arguments)
    tokens = [context.caller_headers["x-up-token"] for _, _, context in bench.playground.seen]
    assert tokens == ["U0", "U1", "U1"]
    assert "U0" not in repr(bench.playground.seen[0])
