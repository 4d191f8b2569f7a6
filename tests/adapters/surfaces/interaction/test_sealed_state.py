"""What clients of 2026-07-28 bring back: sealed, good at every replica, and for its call only."""

from __future__ import annotations

import json
import os
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import pytest
from mcp.client.client import Client

from tests.adapters.cli.running import COMMAND, Shell
from tests.adapters.surfaces.doors import over_http, post, raw_request
from tests.adapters.surfaces.interaction.asking import (
    ABLE,
    ANSWER,
    ASK,
    THROUGH,
    reply,
    told,
)
from tests.adapters.surfaces.interaction.counter import ASKING, behind, counter, started
from tests.fake_upstreams import HERE
from toolcrib_adapters.surfaces.interaction.sealing import Seal, SealedState

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from toolcrib_protocol.json_value import JsonObject


@dataclass
class Replicas:
    """Processes of one crib."""

    shell: Shell
    upstream: str

    @asynccontextmanager
    async def one(self, **environment: str) -> AsyncIterator[str]:
        shell = OtherShell(self.shell.home, extra=environment) if environment else self.shell
        async with shell.serving() as (url, _):
            async with httpx2.AsyncClient() as http:
                await _ready(http, url)
            yield url


@dataclass(frozen=True, slots=True)
class OtherShell(Shell):
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        return {**super(OtherShell, self).environment, **self.extra}


async def _ready(http: httpx2.AsyncClient, url: str) -> None:
    with anyio.fail_after(60):
        while True:
            request = raw_request("tools/call", {"name": "desk__quiet", "arguments": {}})
            answer = (await post(http, url, request)).json()
            if not answer["result"].get("isError"):
                return
            await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def replicas(home: Path, *words: str) -> AsyncIterator[Replicas]:
    """A crib whose source `desk` is an asking server over HTTP."""
    async with started(ASKING, "http", *words) as upstream:
        shell = Shell(home)
        added = await anyio.to_thread.run_sync(
            lambda: shell.spawn("add", "desk", "--url", upstream)
        )
        assert added.code == 0, added.err
        yield Replicas(shell, upstream)


@pytest.mark.promise("interaction-replicas")
@pytest.mark.parametrize("params", [ASK, THROUGH], ids=["direct", "call_tool"])
async def test_a_second_process_goes_on_where_the_first_one_asked(
    tmp_path: Path, params: JsonObject
) -> None:
    async with replicas(tmp_path) as crib, crib.one() as first, crib.one() as second:
        question = await told(first, params)
        assert question["result"]["resultType"] == "input_required"
        answer = await told(second, reply(question, params))
    assert answer["result"]["structuredContent"]["form"] == ANSWER


@pytest.mark.promise("interaction-replicas")
@pytest.mark.promise("interaction-key-rotation")
async def test_a_new_key_seals_and_the_old_one_still_opens(tmp_path: Path) -> None:
    async with replicas(tmp_path) as crib, crib.one() as url:
        before = await told(url, ASK)
        rotated = await anyio.to_thread.run_sync(lambda: crib.shell.spawn("keys", "rotate"))
        assert rotated.code == 0, rotated.err
        after = await told(url, ASK)
        for question in (before, after):
            answer = await told(url, reply(question, ASK))
            assert answer["result"]["structuredContent"]["form"] == ANSWER
    keys = [sealed["result"]["requestState"][:8] for sealed in (before, after)]
    assert keys[0] != keys[1]


@pytest.mark.promise("interaction-sealed")
async def test_a_crib_with_other_keys_refuses_what_it_did_not_seal(tmp_path: Path) -> None:
    other = str(tmp_path / "elsewhere" / "keys.json")
    async with (
        replicas(tmp_path) as crib,
        crib.one() as first,
        crib.one(TOOLCRIB_KEY_RING=other) as second,
    ):
        refused = await told(second, reply(await told(first, ASK), ASK))
    assert refused["error"]["code"] == -32602
    assert "sealed by a crib with other keys" in refused["error"]["message"]
    assert Path(other).stat().st_mode & 0o777 == 0o600


@pytest.mark.promise("interaction-sealed")
@pytest.mark.parametrize(
    "changed",
    [
        {"arguments": {"questions": ["url"]}},
        {"name": "desk__ask_again"},
        {"requestState": "v1.AAAA"},
        {"requestState": ""},
        {"requestState": "é\u0000"},
    ],
)
async def test_an_answer_belongs_to_its_own_call_only(changed: JsonObject) -> None:
    async with counter("http") as made, over_http(made.server()) as url:
        question = await told(url, ASK)
        refused = await told(url, {**reply(question, ASK), **changed})
    assert refused["error"]["code"] == -32602
    assert "does not belong to a question of this call" in refused["error"]["message"]


@pytest.mark.promise("interaction-sealed")
async def test_an_answer_that_comes_too_late_is_refused() -> None:
    async with counter("http") as made:
        server, key = made.server(), os.urandom(32)
        server.middleware[:] = [
            SealedState(Seal(lambda: (key,)), seconds=1e-6)
            if isinstance(layer, SealedState)
            else layer
            for layer in server.middleware
        ]
        async with over_http(server) as url:
            refused = await told(url, reply(await told(url, ASK), ASK))
    assert refused["error"]["code"] == -32602
    assert "it came too late" in refused["error"]["message"]


@pytest.mark.promise("interaction-parked-elsewhere")
async def test_a_call_that_waits_in_another_process_says_where(tmp_path: Path) -> None:
    async with replicas(tmp_path, "legacy") as crib, crib.one() as first, crib.one() as second:
        question = await told(first, ASK)
        lost = await told(second, reply(question, ASK))
        found = await told(first, reply(question, ASK))
        again = await told(first, reply(question, ASK))
    error = lost["result"]["_meta"]["io.toolcrib/error"]
    assert error["code"] == "call_not_here"
    assert "waits for this answer in another toolcrib process (process " in error["message"]
    assert found["result"]["structuredContent"]["form"] == ANSWER
    # An answer is good once: the call is over.
    assert again["result"]["_meta"]["io.toolcrib/error"]["code"] == "call_not_here"


@pytest.mark.parametrize("upstream", ["http", "http legacy", "stdio", "stdio legacy"])
async def test_an_answer_that_is_none_is_asked_for_again(upstream: str) -> None:
    async with counter(upstream) as made, over_http(made.server()) as url:
        question = await told(url, ASK)
        params: JsonObject = {**reply(question, ASK), "inputResponses": {"other": ANSWER}}
        asked = await told(url, params)
        if "legacy" in upstream:
            assert asked["result"]["resultType"] == "input_required"
            asked = await told(url, reply(asked, ASK))
            assert asked["result"]["structuredContent"]["form"] == ANSWER
        else:
            # A newer upstream decides itself what it makes of it.
            assert asked["result"]["structuredContent"]["form"] is None


@pytest.mark.promise("interaction-stdio-modern")
async def test_a_client_over_one_pipe_answers_by_calling_again(tmp_path: Path) -> None:
    """Also over stdio: the keys are those of the home."""
    shell = Shell(tmp_path)
    words = ("add", "desk", "--", sys.executable, "-I", str(HERE / ASKING), "stdio", "legacy")
    added = await anyio.to_thread.run_sync(lambda: shell.spawn(*words))
    assert added.code == 0, added.err
    question = await _over_stdio(shell, ASK)
    assert question["result"]["resultType"] == "input_required"
    assert (tmp_path / "keys.json").stat().st_mode & 0o777 == 0o600


async def _over_stdio(shell: Shell, params: JsonObject) -> Any:
    request = raw_request("tools/call", {**params, "_meta": ABLE})
    async with await anyio.open_process(
        [*COMMAND, "serve", "--stdio"], env=dict(shell.environment)
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with anyio.fail_after(60):
                await process.stdin.send(json.dumps(request).encode() + b"\n")
                line = b""
                while b"\n" not in line:
                    line += await process.stdout.receive()
            return json.loads(line.split(b"\n")[0])
        finally:
            process.kill()


@pytest.mark.promise("interaction-parked")
async def test_calls_that_wait_when_the_crib_ends_are_cancelled_at_the_source() -> None:
    async with started(ASKING, "http", "legacy") as upstream:
        async with behind({"url": upstream}, {}) as made, over_http(made.server()) as url:
            assert (await told(url, ASK))["result"]["resultType"] == "input_required"
        async with Client(upstream, mode="legacy") as client:
            seen: Any = (await client.call_tool("seen", {})).structured_content
    assert [call["questions"] for call in seen["cancelled"]] == [["form"]]
