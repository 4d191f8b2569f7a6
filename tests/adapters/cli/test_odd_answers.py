"""What a source answers that JSON cannot write, as each kind of client of one crib gets it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp.client.client import Client

from tests.adapters.cli.clients import client

if TYPE_CHECKING:
    from tests.adapters.cli.running import Shell

WORDS = (
    '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"t"}],'
    '"structuredContent":{"v":NaN,"w":[-Infinity]}}}'
)
TOLD = {"io.toolcrib/not_numbers": ["/structuredContent/v", "/structuredContent/w/0"]}
EXPECTED = ([{"type": "text", "text": "t"}], {"v": None, "w": [None]}, TOLD)


def parts(answer: Any) -> tuple[Any, Any, Any]:
    meta = {key: value for key, value in answer["_meta"].items() if key in TOLD}
    return answer["content"], answer["structuredContent"], meta


@pytest.mark.promise("sources-not-numbers")
async def test_nan_reaches_every_kind_of_client_as_null_and_ends_nothing(shell: Shell) -> None:
    server = [sys.executable, "-m", "tests.fake_upstreams.line_server"]
    added = await anyio.to_thread.run_sync(lambda: shell.spawn("add", "up", "--", *server))
    assert added.code == 0, added.err
    async with shell.serving() as (url, process):
        words = ["call", "up/write", json.dumps({"text": WORDS}), "--json"]
        called = await anyio.to_thread.run_sync(lambda: shell.spawn(*words))
        assert called.code == 0, called.err
        assert called.document["data"] == EXPECTED[1], called.out
        async with client(shell) as member:
            await member.shake_hands()
            attached = await member.call("up__write", text=WORDS)
            assert parts(attached["result"]) == EXPECTED
        async with Client(url) as over_http:
            answer = await over_http.call_tool("up__write", {"text": WORDS})
            assert (
                parts(answer.model_dump(by_alias=True, mode="json", exclude_none=True)) == EXPECTED
            )
        assert process.returncode is None


@pytest.mark.promise("stdio-lines-answered")
async def test_a_shared_crib_answers_lines_that_are_no_messages(shell: Shell) -> None:
    async with client(shell) as member:
        await member.shake_hands()
        assert member.process.stdin is not None
        for line, code in (
            (b"no JSON\n", -32700),
            (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}\n', -32600),
        ):
            await member.process.stdin.send(line)
            refusal = await member.until(lambda message: "error" in message)
            assert (refusal["id"], refusal["error"]["code"]) == (None, code)
        assert (await member.ask("ping"))["result"] == {}
