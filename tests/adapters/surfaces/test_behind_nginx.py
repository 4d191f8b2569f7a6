"""The endpoint behind a real proxy, with the configuration that the documentation shows."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.adapters.surfaces.bench import Bench
from tests.adapters.surfaces.doors import over_http, post, raw_request
from tests.adapters.surfaces.old_client import old_client
from tests.nginx import PATIENCE, nginx_before, nginx_program
from toolcrib_adapters.surfaces.http_app import HttpSettings
from toolcrib_protocol.result import Result
from toolcrib_registry.ports import Progress

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.ports import CallContext

NAME = "crib.example.org"
SETTINGS = HttpSettings(
    port=0, public_url=f"https://{NAME}", trusted_proxies=("127.0.0.1",), drain_seconds=0.2
)
pytestmark = pytest.mark.promise("edge-behind-nginx")


@asynccontextmanager
async def behind_nginx(bench: Bench, folder: Path) -> AsyncIterator[str]:
    """The URL of the crib's endpoint at the proxy."""
    async with (
        over_http(bench.server(), SETTINGS) as url,
        nginx_before(url, folder) as proxy,
    ):
        with anyio.fail_after(2 * PATIENCE):
            yield f"{proxy}/mcp"


@asynccontextmanager
async def named_client(url: str, mode: str) -> AsyncIterator[Client]:
    """A client of the SDK that asks for the crib by its public name."""
    async with httpx2.AsyncClient(headers={"host": NAME}, timeout=PATIENCE) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_progress_arrives_while_the_call_still_runs(mode: str, tmp_path: Path) -> None:
    bench = await Bench.open()
    heard = anyio.Event()

    async def tell_and_wait(arguments: JsonObject, context: CallContext) -> Result:
        assert context.report_progress is not None
        await context.report_progress(Progress(1, 2, "half way"))
        await heard.wait()  # for ever, if the proxy kept the event back
        return Result(data={"done": True}, has_data=True)

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        assert (progress, total, message) == (1, 2, "half way")
        heard.set()

    vars(bench.playground)["_count"] = tell_and_wait
    async with behind_nginx(bench, tmp_path) as url, named_client(url, mode) as client:
        result = await client.call_tool("play__count", {}, progress_callback=on_progress)
    assert result.structured_content == {"done": True}


async def test_a_session_goes_on_from_request_to_request_and_hears_news(tmp_path: Path) -> None:
    bench = await Bench.open()
    async with behind_nginx(bench, tmp_path) as url, old_client(url, NAME) as client:
        async with client.http.stream("GET", url) as stream:
            await client.call(2, "play__echo", {"a": 1})
            await bench.add("more", ({"name": "new", "inputSchema": {"type": "object"}},))
            async for line in stream.aiter_lines():
                if "notifications/tools/list_changed" in line:
                    break
        answer = await client.call(3, "more__new", {"still": "there"})
        assert "still" in str(answer["result"])
        assert (await client.http.delete(url)).status_code == 200
        assert not await client.is_open()


async def test_a_client_that_hangs_up_ends_its_call(tmp_path: Path) -> None:
    bench = await Bench.open()
    async with behind_nginx(bench, tmp_path) as url, anyio.create_task_group() as tasks:

        async def hang() -> None:
            async with httpx2.AsyncClient(headers={"host": NAME}, timeout=PATIENCE) as http:
                params: JsonObject = {"name": "play__hang", "arguments": {}}
                await post(http, url, raw_request("tools/call", params))

        tasks.start_soon(hang)
        await bench.playground.hanging.wait()
        tasks.cancel_scope.cancel()
        with anyio.CancelScope(shield=True), anyio.fail_after(PATIENCE):
            await bench.playground.cancelled.wait()


async def test_large_requests_and_answers_pass_and_other_names_do_not(tmp_path: Path) -> None:
    bench = await Bench.open()
    text = "x" * 5_000_000
    async with (
        behind_nginx(bench, tmp_path) as url,
        httpx2.AsyncClient(timeout=PATIENCE) as http,
    ):
        params: JsonObject = {"name": "play__echo", "arguments": {"text": text}}
        large = await post(http, url, raw_request("tools/call", params), host=NAME)
        evil = await post(http, url, raw_request("tools/list", {}), host="evil.example")
        page = await post(
            http, url, raw_request("tools/list", {}), host=NAME, origin=f"https://{NAME}"
        )
        other_page = await post(
            http, url, raw_request("tools/list", {}), host=NAME, origin="https://evil.example"
        )
        ready = await http.get(url.replace("/mcp", "/readyz"), headers={"host": NAME})
    assert large.json()["result"]["structuredContent"] == {"text": text}
    assert (evil.status_code, page.status_code, other_page.status_code) == (421, 200, 403)
    assert "'evil.example'" in evil.json()["error"]["message"]
    assert ready.status_code == 404


def test_without_nginx_the_tests_are_skipped_at_a_desk_and_fail_in_ci(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shutil.which", lambda *_names, **_more: None)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="apt-get install nginx"):
        nginx_program()
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match="apt-get install nginx"):
        nginx_program()
