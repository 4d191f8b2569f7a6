"""Callers of both generations and sources of both, and all that can happen to a call between them.

Over real transports: callers come over HTTP, sources are processes, on pipes and over HTTP.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import anyio
import httpx2
import pytest
from mcp.client.client import Client

from tests.adapters.surfaces.doors import over_http
from tests.adapters.surfaces.interaction.counter import ASKING, Noted, Person
from tests.adapters.surfaces.passthrough.hall import CALLERS, PATIENCE, hall

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.adapters.surfaces.passthrough.hall import Hall

UPSTREAMS: Final = (
    "stdio",
    "stdio legacy",
    "stdio oldest",
    "http",
    "http legacy",
    "http oldest",
)
HANDSHAKES: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
GROUP: Final = "/desk"
BIG: Final = 500_000


@asynccontextmanager
async def between(
    caller: str, upstream: str, person: Person | None = None
) -> AsyncIterator[tuple[Hall, Client]]:
    """A crib over `upstream`, and a client of `caller`'s generation at the group's endpoint."""
    answers: dict[str, Any] = {} if person is None else {"elicitation_callback": person.elicited}
    async with (
        hall(script=ASKING, desk=upstream) as made,
        over_http(made.servers) as url,
        Client(f"{url}{GROUP}", mode="legacy" if caller == "legacy" else "auto", **answers) as one,
    ):
        yield made, one


@pytest.mark.promise("field-o25-generations")
@pytest.mark.promise("generations-matrix")
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("caller", CALLERS)
async def test_tools_are_listed_and_called_and_their_errors_told(
    caller: str, upstream: str
) -> None:
    async with between(caller, upstream) as (_, client):
        listed = [tool.name for tool in (await client.list_tools()).tools]
        answer = await client.call_tool("quiet", {"a": [1, None]})
        big: Any = await client.call_tool("quiet", {"a": "x" * BIG})
        failed: Any = await client.call_tool("fail", {})
    assert len(big.structured_content["quiet"]["a"]) == BIG
    assert {"ask", "wait", "quiet", "fail"} <= {*listed}
    assert (answer.is_error, answer.structured_content) == (False, {"quiet": {"a": [1, None]}})
    assert (failed.is_error, failed.content[0].text) == (True, "it broke")


@pytest.mark.promise("field-o25-generations")
@pytest.mark.promise("generations-matrix")
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("caller", CALLERS)
async def test_progress_comes_in_order_and_a_cancelled_call_ends_at_the_source(
    caller: str, upstream: str
) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    noted = Noted()
    async with between(caller, upstream) as (made, client):
        await client.call_tool("steps", {"steps": 3}, progress_callback=note)
        async with anyio.create_task_group() as tasks:

            async def wait() -> None:
                await client.call_tool("wait", {"who": "me"}, progress_callback=noted.note)

            tasks.start_soon(wait)
            with anyio.fail_after(PATIENCE):
                await noted.came.wait()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(PATIENCE):
            while not (cancelled := (await made.seen("desk"))["cancelled"]):
                pass
        after = await client.call_tool("quiet", {})
    assert told == [(step, 3, f"step {step}") for step in range(3)]
    assert [one["who"] for one in cancelled] == ["me"]
    assert not after.is_error


@pytest.mark.promise("field-o25-generations")
@pytest.mark.promise("generations-matrix")
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("caller", CALLERS)
async def test_a_question_in_the_middle_of_a_call_reaches_its_caller(
    caller: str, upstream: str
) -> None:
    person = Person()
    async with between(caller, upstream, person) as (_, client):
        with anyio.fail_after(PATIENCE):
            answer: Any = await client.call_tool("ask", {"questions": ["form"]})
    assert answer.structured_content["form"] == {"action": "accept", "content": {"name": "Ada"}}
    assert len(person.asked) == 1


@pytest.mark.promise("field-o25-generations")
@pytest.mark.promise("generations-matrix")
@pytest.mark.parametrize("version", HANDSHAKES)
@pytest.mark.parametrize("upstream", ["stdio", "http oldest"])
async def test_every_revision_with_a_handshake_is_served_and_an_unknown_session_refused(
    version: str, upstream: str
) -> None:
    async with (
        hall(script=ASKING, desk=upstream) as made,
        over_http(made.servers) as url,
        httpx2.AsyncClient() as http,
    ):
        raw = RawClient(http, f"{url}{GROUP}", version)
        hello = await raw.ask("initialize", HELLO | {"protocolVersion": version})
        assert hello["result"]["protocolVersion"] == version
        listed = await raw.ask("tools/list")
        answer = await raw.ask("tools/call", {"name": "quiet", "arguments": {"a": 1}})
        failed = await raw.ask("tools/call", {"name": "fail"})
        raw.session = "0" * 32
        refused = await raw.post("tools/list")
    assert "quiet" in {tool["name"] for tool in listed["result"]["tools"]}
    assert '"a": 1' in answer["result"]["content"][0]["text"]
    assert (failed["result"]["isError"], "resultType" in failed["result"]) == (True, False)
    assert refused.status_code == 404
    assert "error" in refused.json()


HELLO: Final = {"capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}


class RawClient:
    """A client of an older revision, without any library for it."""

    def __init__(self, http: httpx2.AsyncClient, url: str, version: str) -> None:
        self._http = http
        self._url = url
        self._version = version
        self._id = 0
        self.session: str | None = None

    async def post(self, method: str, params: dict[str, Any] | None = None) -> httpx2.Response:
        self._id += 1
        headers = {"accept": "application/json, text/event-stream"}
        if self.session is not None:
            headers |= {"mcp-session-id": self.session, "mcp-protocol-version": self._version}
        body = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params or {}}
        return await self._http.post(self._url, json=body, headers=headers, timeout=PATIENCE)

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The answer, out of the stream of events."""
        answered = await self.post(method, params)
        assert answered.status_code == 200, answered.text
        self.session = answered.headers.get("mcp-session-id", self.session)
        lines = [line.removeprefix("data:").strip() for line in answered.text.splitlines()]
        found = [httpx2.Response(200, text=line).json() for line in lines if line.startswith("{")]
        answer: dict[str, Any] = found[-1]
        return answer
