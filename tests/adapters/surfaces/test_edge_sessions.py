"""Sessions of older clients: they expire, make room, and keep their requests apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import httpx2
import pytest

from tests.adapters.surfaces.bench import Bench
from tests.adapters.surfaces.doors import call_raw, over_http
from tests.adapters.surfaces.old_client import ACCEPT, HELLO, message_of, old_client
from toolcrib_adapters.surfaces.edge.edge import Backstage
from toolcrib_adapters.surfaces.edge.refusals import Refusals
from toolcrib_adapters.surfaces.edge.session_ledger import SessionLedger
from toolcrib_adapters.surfaces.edge.sessions import Sessions
from toolcrib_adapters.surfaces.http_app import HttpSettings
from toolcrib_adapters.surfaces.request_ids import RequestIds
from toolcrib_adapters.telemetry.metrics import Metrics
from toolcrib_registry.hand_clock import HandClock

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Receive, Scope, Send

    from toolcrib_protocol.json_value import Json, JsonObject

PATIENCE = 60
COMPANY: JsonObject = {"company": 2}


def live_sessions(metrics: Metrics) -> int:
    lines = metrics.page().decode().splitlines()
    return int(float(next(line.split()[1] for line in lines if line.startswith("toolcrib_sess"))))


def content(answer: JsonObject) -> JsonObject:
    """What a call brought back."""
    result = answer["result"]
    assert isinstance(result, dict)
    structured = result["structuredContent"]
    assert isinstance(structured, dict)
    return structured


async def until(condition: Callable[[], object]) -> None:
    """Return once `condition()` holds."""
    with anyio.fail_after(PATIENCE):
        while not condition():
            await anyio.lowlevel.checkpoint()


async def pass_time(clock: HandClock, seconds: float, step: float) -> None:
    """Let time pass in steps that the sweeper sleeps."""
    for _ in range(int(seconds / step)):
        with anyio.fail_after(PATIENCE):
            await clock.sleeper(step)
        clock.advance(step)


async def all_expired(clock: HandClock, metrics: Metrics) -> None:
    """Let time pass until no session is left."""
    with anyio.fail_after(PATIENCE):
        while live_sessions(metrics):
            await pass_time(clock, 3.75, 3.75)


@pytest.mark.promise("field-o34-idle-sessions")
async def test_idle_time_is_counted_from_the_end_of_the_last_call_however_long_that_was() -> None:
    bench, clock = await Bench.open(), HandClock()
    settings = HttpSettings(port=0, idle_seconds=30)
    metrics = Metrics(dict)
    async with (
        over_http(
            bench.server(), settings, clock=clock, backstage=Backstage(numbers=metrics)
        ) as url,
        old_client(url) as client,
    ):
        answers: list[JsonObject] = []

        async def meet() -> None:
            answers.append(await client.call(2, "play__meet", {"company": 2}))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(meet)
            await until(lambda: bench.playground.arrived)
            await pass_time(clock, 60, 3.75)
            assert live_sessions(metrics) == 1
            await call_raw(url, "play__meet", {"company": 2})
        assert answers[0]["id"] == 2
        await pass_time(clock, 26.25, 3.75)
        assert live_sessions(metrics) == 1
        await all_expired(clock, metrics)
        assert not await client.is_open()


@pytest.mark.promise("field-o34-idle-sessions")
async def test_a_session_whose_client_listens_does_not_expire() -> None:
    bench, clock, metrics = await Bench.open(), HandClock(), Metrics(dict)
    settings = HttpSettings(port=0, idle_seconds=30)
    async with (
        over_http(
            bench.server(), settings, clock=clock, backstage=Backstage(numbers=metrics)
        ) as url,
        old_client(url) as client,
    ):
        async with client.http.stream("GET", url) as listening:
            assert listening.status_code == 200
            await pass_time(clock, 60, 3.75)
            assert await client.is_open()
        await until(lambda: b"toolcrib_streams 0.0" in metrics.page())
        await all_expired(clock, metrics)


@pytest.mark.promise("field-o34-idle-sessions")
async def test_a_session_beyond_the_ceiling_takes_the_place_of_the_oldest_idle_one() -> None:
    bench, clock = await Bench.open(), HandClock()
    settings = HttpSettings(port=0, most_sessions=3)
    async with (
        over_http(bench.server(), settings, clock=clock) as url,
        old_client(url) as first,
        old_client(url) as second,
        old_client(url) as third,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(first.call, 2, "play__meet", COMPANY)
        await until(lambda: bench.playground.arrived)
        clock.advance(1)
        assert await second.is_open()
        async with old_client(url) as fourth:
            # The first is busy and the second was used after the third.
            assert not await third.is_open()
            assert await second.is_open()
            assert await fourth.is_open()
        await call_raw(url, "play__meet", {"company": 2})


@pytest.mark.promise("field-o34-idle-sessions")
async def test_a_session_is_refused_only_if_all_are_busy() -> None:
    bench = await Bench.open()
    settings = HttpSettings(port=0, most_sessions=1)
    async with (
        over_http(bench.server(), settings) as url,
        old_client(url) as client,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(client.call, 2, "play__meet", COMPANY)
        await until(lambda: bench.playground.arrived)
        async with httpx2.AsyncClient(headers=ACCEPT) as http:
            refused = await http.post(url, json=HELLO)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
        assert "every session of this crib is busy" in refused.text
        await call_raw(url, "play__meet", {"company": 2})


@pytest.mark.promise("field-o34-idle-sessions")
async def test_two_thousand_abandoned_sessions_leave_nothing_once_they_expire() -> None:
    bench, clock, metrics = await Bench.open(), HandClock(), Metrics(dict)
    settings = HttpSettings(port=0, idle_seconds=30, most_sessions=2_500)
    server = bench.server()
    async with (
        over_http(server, settings, clock=clock, backstage=Backstage(numbers=metrics)) as url,
        httpx2.AsyncClient(headers=ACCEPT, timeout=PATIENCE) as http,
    ):
        for _ in range(2_000):
            assert (await http.post(url, json=HELLO)).status_code == 200
        assert live_sessions(metrics) == 2_000
        await all_expired(clock, metrics)
        # What the SDK keeps of a session is gone, too, not only our own entry.
        kept = server.http_sessions
        assert kept is not None
        await until(lambda: not kept._server_instances)


@pytest.mark.promise("field-o34-idle-sessions")
async def test_a_session_that_its_client_ends_is_forgotten_at_once() -> None:
    bench, metrics = await Bench.open(), Metrics(dict)
    backstage = Backstage(numbers=metrics)
    async with over_http(bench.server(), backstage=backstage) as url, old_client(url) as client:
        assert live_sessions(metrics) == 1
        assert (await client.http.delete(url)).status_code == 200
        assert live_sessions(metrics) == 0
        assert not await client.is_open()


async def test_a_session_is_the_same_with_and_without_a_slash_at_the_end() -> None:
    bench, metrics = await Bench.open(), Metrics(dict)
    backstage = Backstage(numbers=metrics)
    async with over_http(bench.server(), backstage=backstage) as url, old_client(url) as client:
        client.url = f"{url}/"
        assert await client.is_open()
        assert (await client.http.delete(client.url)).status_code == 200
        assert live_sessions(metrics) == 0


async def test_an_opening_that_fails_takes_no_place() -> None:
    bench, metrics = await Bench.open(), Metrics(dict)
    settings = HttpSettings(port=0, most_sessions=1)
    backstage = Backstage(numbers=metrics)
    async with (
        over_http(bench.server(), settings, backstage=backstage) as url,
        httpx2.AsyncClient(headers=ACCEPT) as http,
    ):
        ping: JsonObject = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        for _ in range(3):
            assert (await http.post(url, json=ping)).status_code == 400
        assert (await http.post(url, json=HELLO)).status_code == 200
        assert live_sessions(metrics) == 1


def test_an_id_is_free_when_its_answer_leaves_and_kept_apart_until_the_request_has_ended() -> None:
    ids = RequestIds(iter("xyz").__next__)
    assert ids.admit(1) == 1
    ids.answered(1)
    assert ids.admit(1) == "x"
    assert ids.admit(1) is None
    ids.release(1)
    assert (ids.inner(1), ids.outer("x")) == ("x", 1)
    ids.release("x")
    assert (len(ids), ids.admit(1)) == (0, 1)


@pytest.mark.promise("field-o24-duplicate-ids")
async def test_a_client_that_uses_one_id_for_all_its_requests_is_answered_one_after_the_other() -> (
    None
):
    bench = await Bench.open()
    async with over_http(bench.server()) as url, old_client(url) as client:
        for number in range(30):
            # The stream of the answer is still open when the next request goes out.
            answer = await client.first_message(1, "play__echo", {"tag": str(number)})
            assert content(answer) == {"tag": str(number)}


@pytest.mark.promise("field-o24-duplicate-ids")
@pytest.mark.parametrize("request_id", [1, "1", "a"], ids=["number", "digits", "word"])
async def test_an_id_that_is_in_flight_is_refused_and_the_first_answer_is_its_own(
    request_id: Json,
) -> None:
    bench = await Bench.open()
    async with (
        over_http(bench.server()) as url,
        old_client(url) as client,
        anyio.create_task_group() as tasks,
    ):
        answers: list[JsonObject] = []

        async def first() -> None:
            answers.append(await client.call(request_id, "play__meet", {"company": 2, "tag": "A"}))

        tasks.start_soon(first)
        await until(lambda: bench.playground.arrived)
        params: JsonObject = {"name": "play__echo", "arguments": {"tag": "B"}}
        second = await client.ask(request_id, "tools/call", params)
        assert second.status_code == 409
        assert message_of(second)["id"] == request_id
        assert "still runs" in second.text
        await client.call("end", "play__meet", {"company": 2})
        await until(lambda: answers)
        assert answers[0]["id"] == request_id
        assert content(answers[0]) == {"company": 2, "tag": "A"}
        # Answered ids may be used again.
        again = await client.call(request_id, "play__echo", {"tag": "C"})
        assert content(again) == {"tag": "C"}


@pytest.mark.promise("field-o24-duplicate-ids")
@pytest.mark.parametrize(("first", "second"), [(1, "1"), ("2", 2), (7, "07")], ids=["a", "b", "c"])
async def test_ids_that_only_look_alike_get_their_own_answers(first: Json, second: Json) -> None:
    bench = await Bench.open()
    async with (
        over_http(bench.server()) as url,
        old_client(url) as client,
        anyio.create_task_group() as tasks,
    ):
        answers: dict[str, JsonObject] = {}

        async def meet(request_id: Json, tag: str) -> None:
            answers[tag] = await client.call(
                request_id, "play__meet", {"company": 3, "tag": tag, "big": 2**60}
            )

        tasks.start_soon(meet, first, "A")
        await until(lambda: bench.playground.arrived == 1)
        tasks.start_soon(meet, second, "B")
        await until(lambda: bench.playground.arrived == 2)
        await client.call("end", "play__meet", {"company": 3})
        await until(lambda: len(answers) == 2)
    told = {tag: (a["id"], content(a)["tag"]) for tag, a in answers.items()}
    assert told == {"A": (first, "A"), "B": (second, "B")}


@pytest.mark.promise("field-o24-duplicate-ids")
async def test_a_cancellation_reaches_the_request_whose_id_it_names() -> None:
    bench = await Bench.open()
    async with (
        over_http(bench.server()) as url,
        old_client(url) as client,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(client.call, 1, "play__meet", COMPANY)
        await until(lambda: bench.playground.arrived)
        tasks.start_soon(client.call, "1", "play__hang", {})
        await bench.playground.hanging.wait()
        await client.tell("notifications/cancelled", {"requestId": "1"})
        await bench.playground.cancelled.wait()
        await client.call(2, "play__meet", {"company": 2})


@pytest.mark.promise("field-o24-duplicate-ids")
async def test_an_id_whose_client_hung_up_can_be_used_again_without_hearing_the_old_answer() -> (
    None
):
    bench = await Bench.open()
    async with over_http(bench.server()) as url, old_client(url) as client:
        with anyio.move_on_after(PATIENCE) as leaving:

            async def leave_once_it_runs() -> None:
                await until(lambda: bench.playground.arrived)
                leaving.cancel()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(leave_once_it_runs)
                await client.call(5, "play__meet", {"company": 3, "tag": "old"})
        answers: list[JsonObject] = []

        async def again() -> None:
            while not answers:
                answer = await client.call(5, "play__meet", {"company": 3, "tag": "new"})
                if "result" in answer:  # else the server has not noticed yet that we left
                    answers.append(answer)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(again)
            await until(lambda: bench.playground.arrived == 2)
            await client.call(6, "play__meet", {"company": 3})
    assert answers[0]["id"] == 5
    assert content(answers[0])["tag"] == "new"


@pytest.mark.parametrize("body", [b"", b"[]", b"[" * 100_000, b'{"id": true, "method": "ping"}'])
async def test_a_body_that_is_no_request_is_the_protocols_to_refuse(body: bytes) -> None:
    bench = await Bench.open()
    async with over_http(bench.server()) as url, old_client(url) as client:
        headers = {"content-type": "application/json"}
        refused = await client.http.post(url, content=body, headers=headers)
        assert refused.status_code == 400
        assert await client.is_open()


@pytest.mark.promise("field-o34-idle-sessions")
async def test_a_session_that_cannot_be_ended_does_not_stop_the_others_from_being(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = HandClock()
    ended: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        session_id = dict(scope["headers"])[b"mcp-session-id"].decode()
        ended.append(session_id)
        if session_id == "bad":
            raise RuntimeError("a fault")

    ledger = SessionLedger(most=5, idle_seconds=10)
    for session_id in ("bad", "good"):
        ledger.reserve()
        ledger.opened("/mcp", session_id, 0)
    sessions = Sessions(app, ledger, Refusals(), clock, idle_seconds=10)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sessions.run)
        await clock.sleeper()
        clock.advance(20)
        await until(lambda: len(ended) == 2)
        tasks.cancel_scope.cancel()
    assert ended == ["bad", "good"]
    assert len(ledger) == 0
    assert "could not be ended" in caplog.text
