"""Questions of an upstream to the caller of the call, in all pairs of generations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import pytest

from tests.adapters.surfaces.doors import over_http
from tests.adapters.surfaces.interaction.asking import ASK, reply, told
from tests.adapters.surfaces.interaction.counter import (
    CALLERS,
    UPSTREAMS,
    Noted,
    Person,
    client_at,
    client_of,
    counter,
)

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject

ALL = ["form", "url", "model", "folders"]


@pytest.mark.promise("interaction-questions")
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("caller", CALLERS)
async def test_a_question_reaches_the_caller_and_its_answer_comes_back(
    caller: str, upstream: str
) -> None:
    person = Person()
    async with (
        counter(upstream) as made,
        client_of(made.server(), caller, person) as client,
    ):
        with anyio.fail_after(30):
            direct = await client.call_tool("desk__ask", {"questions": ALL})
            through = await client.call_tool(
                "call_tool", {"name": "desk__ask", "arguments": {"questions": ["form"]}}
            )
            twice = await client.call_tool("desk__ask_again", {})
    answers: Any = direct.structured_content
    assert not direct.is_error, direct.content
    assert answers["form"] == {"action": "accept", "content": {"name": "Ada"}}
    assert answers["url"]["action"] == "accept"
    assert answers["model"]["content"] == {"type": "text", "text": "hello from Ada"}
    assert answers["folders"] == {"roots": [{"uri": "file:///Ada", "name": "Ada"}]}
    assert through.structured_content["form"]["content"] == {"name": "Ada"}
    assert twice.structured_content == {"name": "Ada", "age": 36}
    assert len(person.asked) == 7


@pytest.mark.promise("field-o26-nobody-to-ask")
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("caller", CALLERS)
async def test_a_caller_that_cannot_be_asked_gets_an_error_for_a_person_at_once(
    caller: str, upstream: str
) -> None:
    async with counter(upstream) as made, client_of(made.server(), caller, None) as client:
        with anyio.fail_after(20):
            result = await client.call_tool(
                "call_tool", {"name": "desk__ask", "arguments": {"questions": ["form"]}}
            )
    error = error_of(result)
    assert (error["code"], error["kind"]) == ("needs_input", "needs_human")
    assert "Who are you?" in error["message"]
    assert "did not declare" in error["message"]


@pytest.mark.promise("interaction-abilities")
@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_nothing_is_offered_upstream_that_the_caller_did_not_declare(upstream: str) -> None:
    async with counter(upstream) as made:
        async with client_of(made.server(), "modern", None) as client:
            await client.call_tool("desk__quiet", {})
        seen = (await made.seen())["capabilities"]
    # An older server is told once, before anybody calls, what some caller may answer.
    all_of_them: Any = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
    assert seen[0] == (all_of_them if "legacy" in upstream else {})


@pytest.mark.promise("interaction-lists")
@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_nobody_is_asked_within_a_list_of_calls(upstream: str) -> None:
    person = Person()
    calls = [{"name": "desk__ask"}, {"name": "desk__quiet", "arguments": {"n": 1}}]
    async with counter(upstream) as made, client_of(made.server(), "modern", person) as client:
        # Tools that ended without asking are known to be quiet over one pipe.
        await client.call_tool("desk__quiet", {})
        listed = await client.call_tool("call_tool", {"calls": calls})
    asking, quiet = listed.structured_content["results"]
    assert asking["error"]["code"] == "needs_input"
    assert "within a list" in asking["error"]["message"]
    assert quiet["data"] == {"quiet": {"n": 1}}
    assert person.asked == []


@pytest.mark.promise("interaction-attribution")
@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_each_of_two_people_is_asked_what_their_own_call_asks(
    upstream: str, caller: str
) -> None:
    people = [Person("Ada"), Person("Bob")]
    heard: dict[str, Any] = {}

    async with counter(upstream) as made, over_http(made.server()) as url:

        async def call(person: Person) -> None:
            async with client_at(url, caller, person) as client:
                result = await client.call_tool("desk__ask", {"questions": ["form"]})
                heard[person.name] = result.structured_content

        # Over one pipe, a tool that has asked once is called one at a time.
        await call(Person("first"))
        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                for person in people:
                    tasks.start_soon(call, person)
    for name in ("Ada", "Bob"):
        assert heard[name]["form"]["content"] == {"name": name}


@pytest.mark.promise("interaction-attribution")
async def test_a_question_of_nobody_knows_whom_is_put_to_nobody() -> None:
    people = [Person("Ada"), Person("Bob")]
    codes: list[str] = []
    async with counter("stdio legacy") as made, over_http(made.server()) as url:

        async def call(person: Person, name: str) -> None:
            async with client_at(url, "legacy", person) as client:
                result = await client.call_tool(name, {}, progress_callback=noted.note)
                codes.append(error_of(result)["code"])

        noted = Noted()
        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call, people[0], "desk__wait")
                await noted.came.wait()
                tasks.start_soon(call, people[1], "desk__ask")
    assert codes == ["needs_input", "needs_input"]
    assert people[0].asked == people[1].asked == []


@pytest.mark.promise("interaction-refusals")
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("caller", CALLERS)
async def test_a_person_may_say_no(caller: str, upstream: str) -> None:
    person = Person(says_no=True)
    async with counter(upstream) as made, client_of(made.server(), caller, person) as client:
        result = await client.call_tool("desk__ask", {"questions": ["form"]})
    assert result.structured_content["form"] == {"action": "decline"}


@pytest.mark.promise("interaction-refusals")
@pytest.mark.parametrize("upstream", ["stdio", "http legacy"])
async def test_an_error_of_the_client_is_told(upstream: str) -> None:
    """An older upstream hears the error itself; to a newer one no error can be sent."""
    person = Person(fails=True)
    async with counter(upstream) as made, client_of(made.server(), "legacy", person) as client:
        result = await client.call_tool("desk__ask", {"questions": ["model"]})
    if "legacy" in upstream:
        assert result.structured_content["model"] == {"error": -1}
    else:
        assert "User rejected" in error_of(result)["message"]


@pytest.mark.promise("interaction-questions")
@pytest.mark.parametrize("upstream", ["stdio legacy", "http legacy"])
async def test_who_visited_a_page_hears_that_it_has_done_its_work(upstream: str) -> None:
    told: list[str] = []
    heard = anyio.Event()

    async def hear(message: object) -> None:
        if isinstance(message, types.ElicitCompleteNotification):
            told.append(message.params.elicitation_id)
            heard.set()

    async with (
        counter(upstream) as made,
        client_of(made.server(), "legacy", Person(), message_handler=hear) as client,
    ):
        await client.call_tool("desk__ask", {"questions": ["url"]})
        with anyio.fail_after(30):
            await heard.wait()
    assert told == ["e-1"]


def error_of(result: Any) -> Any:
    assert result.is_error, result
    return result.meta["io.toolcrib/error"]


@pytest.mark.promise("interaction-questions")
@pytest.mark.parametrize("caller", CALLERS)
async def test_a_process_can_be_held_to_the_older_generation(caller: str) -> None:
    """For servers that know both, with tools that can ask in the middle of a call only."""
    person = Person()
    async with (
        counter("stdio", generation="older") as made,
        client_of(made.server(), caller, person) as client,
    ):
        result = await client.call_tool("desk__ask", {"questions": ["form"]})
    assert result.structured_content == {"form": {"action": "accept", "content": {"name": "Ada"}}}


@pytest.mark.promise("interaction-questions")
async def test_a_source_that_asks_for_ever_is_stopped_and_one_that_wants_time_gets_it() -> None:
    person = Person()
    async with counter("stdio") as made, client_of(made.server(), "legacy", person) as client:
        endless = await client.call_tool("desk__ask_for_ever", {})
        later = await client.call_tool("desk__later", {})
    assert error_of(endless)["code"] == "upstream_protocol"
    assert "asked 10 times" in error_of(endless)["message"]
    assert later.structured_content == {}


@pytest.mark.promise("interaction-attribution")
async def test_a_second_call_that_asks_waits_its_turn_no_longer_than_it_may() -> None:
    in_time: JsonObject = {"io.toolcrib/timeout_seconds": 0.2}
    async with counter("stdio legacy") as made, over_http(made.server()) as url:
        first = await told(url, ASK)
        waiting = await told(url, ASK, in_time)
        quiet = await told(url, {"name": "desk__quiet", "arguments": {}}, in_time)
        done = await told(url, reply(first, ASK))
    error = waiting["result"]["_meta"]["io.toolcrib/error"]
    assert (error["code"], error["kind"]) == ("at_capacity", "retryable")
    assert "nothing was called" in error["message"]
    assert quiet["result"]["structuredContent"] == {"quiet": {}}
    assert done["result"]["structuredContent"]["form"]["action"] == "accept"


@pytest.mark.promise("interaction-parked")
async def test_a_call_that_could_be_parked_has_its_time_limit_all_the_same() -> None:
    silent: JsonObject = {"name": "desk__wait", "arguments": {"who": "me"}}
    async with counter("http legacy") as made, over_http(made.server()) as url:
        answer = await told(url, silent, {"io.toolcrib/timeout_seconds": 0.3})
        with anyio.fail_after(30):
            while not (seen := (await made.seen())["cancelled"]):
                await anyio.lowlevel.checkpoint()
    error = answer["result"]["_meta"]["io.toolcrib/error"]
    assert error["details"]["cause"] == "tool_timed_out"
    assert [call["who"] for call in seen] == ["me"]


@pytest.mark.promise("interaction-refusals")
@pytest.mark.parametrize("upstream", ["stdio", "http legacy"])
async def test_a_flood_of_questions_is_stopped(upstream: str) -> None:
    many: JsonObject = {"questions": [f"form {number}" for number in range(40)]}
    person = Person(waits=True)
    async with counter(upstream) as made, client_of(made.server(), "legacy", person) as client:
        with anyio.fail_after(30):
            result = await client.call_tool("desk__ask", many)
    assert "asks more than 32 questions at once" in error_of(result)["message"]
    assert len(person.asked) <= 32


@pytest.mark.promise("interaction-endless")
@pytest.mark.parametrize(
    ("upstream", "most"), [("stdio", 20), ("stdio legacy", 64), ("http legacy", 64)]
)
async def test_a_caller_that_comes_back_is_not_asked_for_ever(upstream: str, most: int) -> None:
    endless: JsonObject = {"name": "desk__ask_for_ever", "arguments": {}}
    rounds = 0
    async with counter(upstream) as made, over_http(made.server()) as url:
        answer = await told(url, endless)
        with anyio.fail_after(60):
            while answer["result"]["resultType"] == "input_required":
                rounds += 1
                answer = await told(url, reply(answer, endless))
    assert rounds == most
    error = answer["result"]["_meta"]["io.toolcrib/error"]
    assert error["code"] == "upstream_protocol"
    assert f"asked {most} times in one call" in error["message"]


@pytest.mark.promise("interaction-endless")
async def test_an_older_caller_is_not_asked_for_ever_by_an_older_source() -> None:
    person = Person()
    async with (
        counter("stdio legacy") as made,
        client_of(made.server(), "legacy", person) as client,
    ):
        with anyio.fail_after(60):
            result = await client.call_tool("desk__ask_for_ever", {})
    assert "asked 64 times in one call" in error_of(result)["message"]
    assert len(person.asked) == 64
