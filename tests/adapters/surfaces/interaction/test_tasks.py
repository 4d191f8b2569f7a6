"""Calls that go on as tasks, for callers of 2026-07-28 that declare the extension."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import pytest

from tests.adapters.surfaces.doors import over_http, post, raw_request
from tests.adapters.surfaces.interaction.counter import behind, counter, started
from tests.adapters.surfaces.old_client import old_client
from toolcrib_adapters.surfaces.interaction.task_board import KEPT_SECONDS, TaskBoard
from toolcrib_registry.hand_clock import HandClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.adapters.surfaces.interaction.counter import Counter
    from toolcrib_protocol.json_value import JsonObject

TASKS = "io.modelcontextprotocol/tasks"
ABLE: JsonObject = {
    "io.modelcontextprotocol/clientCapabilities": {
        "elicitation": {"form": {}},
        "extensions": {TASKS: {}},
    }
}
PATIENCE = 30


class Desk:
    """A client that can take tasks, at a crib whose long calls become tasks."""

    def __init__(self, url: str) -> None:
        self.url = url

    async def ask(self, method: str, meta: JsonObject = ABLE, **params: Any) -> Any:
        """The JSON-RPC message that answers a request."""
        named = {"mcp-name": params["taskId"]} if "taskId" in params else {}
        async with httpx2.AsyncClient(timeout=PATIENCE) as http:
            request = raw_request(method, {**params, "_meta": meta})
            return (await post(http, self.url, request, **named)).json()

    async def call(self, name: str, /, **arguments: Any) -> Any:
        answer = await self.ask("tools/call", name=name, arguments=arguments)
        return answer["result"]

    async def task(self, task_id: str, *statuses: str) -> Any:
        """The task, once it does one of these."""
        with anyio.fail_after(PATIENCE):
            while True:
                task = (await self.ask("tasks/get", taskId=task_id))["result"]
                if task["status"] in statuses:
                    return task
                await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def desk(made: Counter, board: TaskBoard | None = None) -> AsyncIterator[Desk]:
    server = made.server()
    server.tasks.board = board or TaskBoard(HandClock(), long_seconds=0.0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.tasks.board.run)
        await anyio.wait_all_tasks_blocked()
        async with over_http(server) as url:
            yield Desk(url)
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def tasks_server() -> AsyncIterator[Counter]:
    """A crib over a source that has tasks of its own."""
    async with started("tasks_server.py", "http") as url, behind({"url": url}, {}) as made:
        yield made


@pytest.mark.promise("interaction-own-tasks")
async def test_a_long_call_goes_on_as_a_task_that_says_what_a_restart_does() -> None:
    async with counter("stdio") as made, desk(made) as client:
        started_task = await client.call("desk__quiet", n=1)
        assert started_task["resultType"] == "task"
        assert started_task["_meta"]["io.toolcrib/survives_restart"] is False
        assert "a restart of it ends the task" in started_task["statusMessage"]
        assert "result" not in started_task
        task = await client.task(started_task["taskId"], "completed")
    assert task["taskId"] == started_task["taskId"]
    assert task["resultType"] == "complete"
    assert task["result"]["structuredContent"] == {"quiet": {"n": 1}}
    assert task["result"]["resultType"] == "complete"


@pytest.mark.promise("interaction-own-tasks")
async def test_a_quick_call_and_a_caller_without_the_extension_get_no_task() -> None:
    async with counter("stdio") as made:
        async with desk(made, TaskBoard(HandClock(), long_seconds=PATIENCE)) as client:
            quick = await client.call("desk__quiet", n=1)
        async with desk(made) as client:
            plain = await client.ask("tools/call", {}, name="desk__quiet", arguments={"n": 2})
        async with desk(made, TaskBoard(HandClock(), long_seconds=0.0, most=0)) as client:
            full = await client.call("desk__quiet", n=3)
    for answer, number in ((quick, 1), (plain["result"], 2), (full, 3)):
        assert answer["resultType"] == "complete"
        assert answer["structuredContent"] == {"quiet": {"n": number}}


@pytest.mark.promise("interaction-own-tasks")
@pytest.mark.parametrize("upstream", ["http", "http legacy", "stdio legacy"])
async def test_a_task_asks_and_goes_on_with_the_answer(upstream: str) -> None:
    async with counter(upstream) as made, desk(made) as client:
        through = {"name": "desk__ask", "arguments": {"questions": ["form"]}}
        begun = await client.call("call_tool", **through)
        task_id = begun["taskId"]
        task = await client.task(task_id, "input_required")
        (key,) = task["inputRequests"]
        ignored = await client.ask("tasks/update", taskId=task_id, inputResponses={"other": {}})
        assert ignored["result"]["resultType"] == "complete"
        assert (await client.task(task_id, "input_required"))["inputRequests"]
        answer = {key: {"action": "accept", "content": {"name": "Ada"}}}
        await client.ask("tasks/update", taskId=task_id, inputResponses=answer)
        done = await client.task(task_id, "completed")
    assert done["result"]["structuredContent"]["form"]["content"] == {"name": "Ada"}


@pytest.mark.promise("interaction-own-tasks")
@pytest.mark.parametrize("upstream", ["http", "stdio legacy"])
async def test_a_cancelled_task_is_cancelled_at_its_source(upstream: str) -> None:
    async with counter(upstream) as made, desk(made) as client:
        begun = await client.call("desk__wait", who="me")
        with anyio.fail_after(PATIENCE):
            while not (await client.task(begun["taskId"], "working"))["statusMessage"].startswith(
                "waiting"
            ):
                await anyio.lowlevel.checkpoint()
        for _ in range(2):
            ended = await client.ask("tasks/cancel", taskId=begun["taskId"])
            assert set(ended["result"]) == {"resultType", "_meta"}
        assert (await client.task(begun["taskId"], "cancelled"))["status"] == "cancelled"
        with anyio.fail_after(PATIENCE):
            while not (seen := (await made.seen())["cancelled"]):
                await anyio.lowlevel.checkpoint()
    assert [call["who"] for call in seen] == ["me"]


@pytest.mark.promise("interaction-own-tasks")
async def test_a_failed_call_is_a_completed_task_and_one_that_is_refused_a_failed_one() -> None:
    async with tasks_server() as made, desk(made) as client:
        failing = await client.call("desk__greet")
        wrong = await client.task(failing["taskId"], "completed")
        assert wrong["result"]["isError"] is True
        refused = await client.ask("tools/call", {}, name="desk__failing_job", arguments={})
    assert refused["error"]["code"] == -32021
    assert refused["error"]["data"] == {"requiredCapabilities": {"extensions": {TASKS: {}}}}


@pytest.mark.promise("interaction-source-tasks")
@pytest.mark.parametrize("name", ["direct", "call_tool"])
async def test_a_task_of_a_source_passes_through_under_an_id_that_leads_back(name: str) -> None:
    asked: JsonObject = {"filename": "f.txt"}
    # Our own tasks are out of the way: the source answers at once.
    board = TaskBoard(HandClock(), long_seconds=PATIENCE)
    async with tasks_server() as made, desk(made, board) as client:
        if name == "direct":
            begun = await client.call("desk__confirm_delete", **asked)
        else:
            begun = await client.call("call_tool", name="desk__confirm_delete", arguments=asked)
        task_id = begun["taskId"]
        task = await client.task(task_id, "input_required")
        (key,) = task["inputRequests"]
        answer = {key: {"action": "accept", "content": {"confirm": True}}}
        await client.ask("tasks/update", taskId=task_id, inputResponses=answer)
        done = await client.task(task_id, "completed")
        cancelled = await client.ask("tasks/cancel", taskId=task_id)
    assert done["taskId"] == task_id
    assert done["result"]["content"][0]["text"] == "deleted: True"
    assert cancelled["result"]["resultType"] == "complete"


@pytest.mark.promise("interaction-source-tasks")
async def test_a_task_of_a_source_that_came_late_is_shown_as_ours() -> None:
    async with tasks_server() as made, desk(made) as client:
        begun = await client.call("desk__multi_input")
        task = await client.task(begun["taskId"], "input_required")
        answers = {key: {"action": "accept", "content": {}} for key in task["inputRequests"]}
        assert len(answers) == 2
        await client.ask("tasks/update", taskId=begun["taskId"], inputResponses=answers)
        done = await client.task(begun["taskId"], "completed")
        other = await client.call("desk__slow_compute", seconds=600)
        await client.task(other["taskId"], "working")
        await client.ask("tasks/cancel", taskId=other["taskId"])
        ended = await client.task(other["taskId"], "cancelled")
    assert done["result"]["content"][0]["text"] == "both answered"
    assert ended["taskId"] == other["taskId"]


@pytest.mark.promise("interaction-task-ids")
async def test_an_id_that_was_not_given_leads_nowhere_and_an_expired_one_says_why() -> None:
    clock = HandClock()
    board = TaskBoard(clock, long_seconds=0.0)
    async with counter("stdio") as made, desk(made, board) as client:
        begun = await client.call("desk__quiet")
        await client.task(begun["taskId"], "completed")
        clock.advance(KEPT_SECONDS + 1)
        gone = await client.ask("tasks/get", taskId=begun["taskId"])
        made_up = await client.ask("tasks/get", taskId="v1.made-up")
    assert gone["error"]["code"] == made_up["error"]["code"] == -32602
    assert (
        "it has expired, the toolcrib process that ran it was started anew"
        in (gone["error"]["message"])
    )
    assert "no task is called 'v1.made-up'" in made_up["error"]["message"]


@pytest.mark.promise("interaction-task-ids")
async def test_tasks_are_for_those_who_declare_them() -> None:
    async with counter("stdio") as made, desk(made) as client:
        begun = await client.call("desk__quiet")
        for method in ("tasks/get", "tasks/cancel"):
            refused = await client.ask(method, {}, taskId=begun["taskId"])
            assert refused["error"]["code"] == -32021
        async with httpx2.AsyncClient() as http:
            request = raw_request("tasks/get", {"taskId": begun["taskId"], "_meta": ABLE})
            other = (await post(http, client.url, request, **{"mcp-name": "another"})).json()
        async with old_client(client.url) as old:
            unknown = await old.ask(9, "tasks/get", {"taskId": begun["taskId"]})
    assert other["error"]["code"] == -32020
    assert '"code":-32601' in unknown.text


@pytest.mark.promise("interaction-source-tasks")
async def test_another_replica_knows_where_the_task_of_a_source_is_and_not_where_ours_are() -> None:
    keys = (b"k" * 32,)
    board = TaskBoard(HandClock(), long_seconds=0.0)
    async with (
        tasks_server() as made,
        over_http(made.server(lambda: keys)) as first,
        over_http(made.server(lambda: keys)) as second,
        desk(made, board) as third,
    ):
        begun = await Desk(first).call("desk__slow_compute", seconds=600)
        elsewhere = await Desk(second).task(begun["taskId"], "working")
        await Desk(second).ask("tasks/cancel", taskId=begun["taskId"])
        ended = await Desk(first).task(begun["taskId"], "cancelled")
        ours = await third.call("desk__greet", name="Ada")
        lost = await Desk(first).ask("tasks/get", taskId=ours["taskId"])
    assert elsewhere["taskId"] == ended["taskId"] == begun["taskId"]
    assert lost["error"]["code"] == -32602
