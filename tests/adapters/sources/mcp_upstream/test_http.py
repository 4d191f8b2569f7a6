"""Servers at an address: streamable HTTP of both generations, and SSE."""

from __future__ import annotations

import logging
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from tests.adapters.sources.mcp_upstream.bay import Bay, bay, http_server, names
from toolcrib_protocol.errors import (
    INVALID_ARGUMENTS,
    NEEDS_INPUT,
    NEEDS_SIGN_IN,
    RATE_LIMITED,
    SOURCE_DISCONNECTED,
    SOURCE_FAILED,
    SOURCE_UNAVAILABLE,
    UPSTREAM_PROTOCOL,
    ErrorKind,
    ToolError,
)
from toolcrib_registry.ports import SourceStatus

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.adapters.sources.mcp_upstream.bay import Server
    from toolcrib_protocol.json_value import Json, JsonObject

MODES = ["http", "http-legacy", "sse"]
IN_ITS_WORDS: JsonObject = {
    "http_status": 400,
    "jsonrpc_code": -32602,
    "jsonrpc_message": "no such thing",
}
RETRYABLE, FATAL, NEEDS_HUMAN = ErrorKind.RETRYABLE, ErrorKind.FATAL, ErrorKind.NEEDS_HUMAN


@asynccontextmanager
async def bay_at(
    mode: str, key: str | None = None, **settings: Json
) -> AsyncIterator[tuple[Server, Bay]]:
    async with http_server(mode, key) as server:
        transport = "sse" if mode == "sse" else "http"
        async with bay(server.spec(transport, **settings)) as made:
            yield server, made


@pytest.mark.promise("mcp-both-generations")
@pytest.mark.promise("mcp-raw-lists")
@pytest.mark.parametrize("mode", MODES)
async def test_a_server_at_an_address_is_listed_and_called(mode: str) -> None:
    async with bay_at(mode) as (_, made):
        assert made.state.status is SourceStatus.READY
        assert names(made.host.listings[0].entries)[:2] == ["echo", "wait"]
        assert len(made.host.listings[0].entries) == 10
        numbers: dict[str, Any] = {"id": 9007199254740993, "f": 1.0, "text": "\xe9\u4e2d"}
        assert repr((await made.call("echo", **numbers)).data) == repr(numbers)
        assert (await made.call("echo", text="\ud800")).data == {"text": "\ufffd\ufffd\ufffd"}


@pytest.mark.promise("mcp-both-generations")
async def test_a_request_of_the_stateless_generation_is_stamped_and_mirrored() -> None:
    async with bay_at("http", headers={"X-Team": "blue"}) as (_, made):
        facts = await made.facts("request", region="north \u4e2d", other=1)
        headers, meta = facts["headers"], facts["meta"]
        assert isinstance(headers, dict)
        assert isinstance(meta, dict)
        assert headers["mcp-protocol-version"] == "2026-07-28"
        assert headers["mcp-method"] == "tools/call"
        assert headers["mcp-name"] == "request"
        assert str(headers["mcp-param-region"]).startswith("=?base64?")
        assert headers["x-team"] == "blue"


async def test_a_handshake_server_gets_the_version_it_agreed_on() -> None:
    async with bay_at("http-legacy") as (_, made):
        headers = (await made.facts("request"))["headers"]
        assert isinstance(headers, dict)
        assert headers["mcp-protocol-version"] == "2025-11-25"
        assert "mcp-name" not in headers


async def test_a_question_back_is_told_to_a_person() -> None:
    async with bay_at("http") as (_, made):
        with pytest.raises(ToolError, match=r"asks: .Sure\?.") as told:
            await made.call("ask")
        assert (told.value.code, told.value.kind) == (NEEDS_INPUT, NEEDS_HUMAN)


async def test_an_answer_of_several_megabytes_is_read_over_events() -> None:
    async with bay_at("http") as (_, made):
        assert len((await made.call("big", size=3_000_000)).text) == 3_000_000


@pytest.mark.promise("mcp-calls-independent")
@pytest.mark.promise("http-failures-told")
@pytest.mark.parametrize(
    ("kind", "code", "does", "details"),
    [
        (
            "busy",
            SOURCE_FAILED,
            RETRYABLE,
            {"http_status": 503, "retry_after_seconds": 7.0, "sent": True},
        ),
        (
            "busy until",
            RATE_LIMITED,
            RETRYABLE,
            {"http_status": 429, "retry_after_seconds": 90.0, "sent": True},
        ),
        (
            "busy for ever",
            RATE_LIMITED,
            RETRYABLE,
            {"http_status": 429, "retry_after_seconds": 86_400.0, "sent": True},
        ),
        ("busy somehow", RATE_LIMITED, RETRYABLE, {"http_status": 429, "sent": True}),
        ("forbidden", NEEDS_SIGN_IN, NEEDS_HUMAN, {"http_status": 403}),
        ("fault", SOURCE_FAILED, RETRYABLE, {"http_status": 500, "sent": True}),
        ("gateway", SOURCE_FAILED, RETRYABLE, {"http_status": 502, "sent": True}),
        ("refused", UPSTREAM_PROTOCOL, FATAL, {"http_status": 405}),
        ("jsonrpc", INVALID_ARGUMENTS, FATAL, IN_ITS_WORDS),
        ("html", UPSTREAM_PROTOCOL, FATAL, {"sent": True}),
        ("empty", UPSTREAM_PROTOCOL, FATAL, {"sent": True}),
        ("nothing", UPSTREAM_PROTOCOL, FATAL, {"sent": True}),
        ("accepted", UPSTREAM_PROTOCOL, FATAL, {"sent": True}),
        ("no end", SOURCE_DISCONNECTED, RETRYABLE, {"sent": True}),
        ("not json", UPSTREAM_PROTOCOL, FATAL, {"sent": True}),
        ("not packed", UPSTREAM_PROTOCOL, FATAL, {"sent": True}),
        ("break off", SOURCE_DISCONNECTED, RETRYABLE, {"sent": True}),
    ],
)
@pytest.mark.parametrize("mode", ["http", "http-legacy"])
async def test_a_failed_answer_is_told_apart_and_ends_no_other_call(
    mode: str, kind: str, code: str, does: ErrorKind, details: JsonObject
) -> None:
    async with bay_at(mode) as (_, made), anyio.create_task_group() as tasks:
        tasks.start_soon(made.call, "wait")
        with pytest.raises(ToolError) as told:
            await made.call("trouble", kind=kind)
        assert (told.value.code, told.value.kind) == (code, does)
        assert told.value.details == details
        assert (await made.call("echo", a=1)).data == {"a": 1}
        assert made.host.states[-1].status is SourceStatus.READY
        tasks.cancel_scope.cancel()


@pytest.mark.promise("mcp-states")
async def test_a_server_that_asks_for_credentials_needs_a_sign_in() -> None:
    async with bay_at("http", "s3cret-key") as (_, made):
        assert made.state.status is SourceStatus.NEEDS_SIGN_IN
        assert "HTTP 401" in made.state.reason
        with pytest.raises(ToolError, match="nothing was called") as told:
            await made.call("echo")
        assert (told.value.code, told.value.kind) == (NEEDS_SIGN_IN, NEEDS_HUMAN)


@pytest.mark.promise("mcp-states")
async def test_a_server_of_events_that_asks_for_credentials_needs_a_sign_in() -> None:
    async with bay_at("sse", "s3cret-key") as (_, made):
        assert made.state.status is SourceStatus.NEEDS_SIGN_IN


@pytest.mark.promise("mcp-states")
@pytest.mark.promise("field-secrets-by-reference")
async def test_credentials_come_from_the_environment() -> None:
    async with http_server("http", "s3cret-key") as server:
        spec = server.spec(headers={"Authorization": "Bearer ${KEY}"})
        async with bay(spec, {**os.environ, "KEY": "s3cret-key"}) as made:
            assert made.state.status is SourceStatus.READY


@pytest.mark.promise("mcp-states")
@pytest.mark.parametrize("mode", MODES)
async def test_credentials_that_expire_make_the_source_need_a_sign_in(mode: str) -> None:
    headers: JsonObject = {"Authorization": "Bearer s3cret-key"}
    async with bay_at(mode, "s3cret-key", headers=headers) as (_, made):
        assert made.state.status is SourceStatus.READY
        with pytest.raises(ToolError) as told:
            await made.call("trouble", kind="expired")
        assert told.value.code == NEEDS_SIGN_IN
        assert (await made.host.settled()).status is SourceStatus.FAILED
        assert (await made.state_after_pause()).status is SourceStatus.NEEDS_SIGN_IN


@pytest.mark.promise("field-o19-lost-session")
async def test_a_session_that_is_forgotten_again_and_again_is_not_asked_for_ever() -> None:
    async with bay_at("http-legacy") as (_, made):
        with pytest.raises(ToolError, match="nothing was called") as told:
            await made.call("trouble", kind="forgotten")
        assert (told.value.code, told.value.kind) == (SOURCE_UNAVAILABLE, RETRYABLE)
        assert (await made.state_after_pause()).status is SourceStatus.READY


@pytest.mark.promise("mcp-death-noticed")
@pytest.mark.parametrize("mode", MODES)
async def test_a_server_that_dies_is_connected_again_when_it_is_back(mode: str) -> None:
    async with bay_at(mode) as (server, made):
        with pytest.raises(ToolError) as told:
            await made.call("leave")
        assert told.value.code == SOURCE_DISCONNECTED
        if mode != "sse":  # there, the stream of events has told already
            with pytest.raises(ToolError) as told:
                await made.call("echo")
            # Or the stream of notices has just told, and the connection ends around the call.
            assert told.value.code in {SOURCE_UNAVAILABLE, SOURCE_DISCONNECTED}
            if told.value.code == SOURCE_DISCONNECTED:
                # One that was kept open told it, and says nothing of the next: that one will.
                with pytest.raises(ToolError):
                    await made.call("echo", limit=1.0)
        assert (await made.host.settled()).status is SourceStatus.FAILED
        async with http_server(mode, port=server.port):
            assert (await made.state_after_pause()).status is SourceStatus.READY
            assert (await made.call("echo", a=1)).data == {"a": 1}


@pytest.mark.promise("mcp-states")
async def test_an_address_where_nobody_listens_is_told_and_tried_again() -> None:
    spec: JsonObject = {"transport": "http", "url": "http://127.0.0.1:1/mcp"}
    async with bay(spec) as made:
        assert made.state.status is SourceStatus.FAILED
        assert "cannot be reached" in made.state.reason
        assert made.state.retry_at is not None


@pytest.mark.promise("mcp-states")
@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_server_that_never_answers_is_given_up_in_time(transport: str) -> None:
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        url = f"http://127.0.0.1:{port}/mcp"
        spec: JsonObject = {"transport": transport, "url": url, "connect_timeout_seconds": 0.2}
        async with bay(spec) as made:
            assert made.state.reason == "the server did not answer within 0.2 s"


@pytest.mark.promise("field-secrets-by-reference")
async def test_a_secret_in_an_address_reaches_no_log_and_no_state(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    environment = {**os.environ, "KEY": "k3y-of-mine", "PORT": "1"}
    async with http_server("http") as server:
        spec: JsonObject = {"transport": "http", "url": f"{server.url}?key=${{KEY}}"}
        async with bay(spec, environment) as made:
            assert made.state.status is SourceStatus.READY
            assert "KEY" not in repr(made.source)
    spec = {"transport": "http", "url": "http://127.0.0.1:${PORT}/${KEY}"}
    async with bay(spec, environment) as made:
        assert "k3y-of-mine" not in made.state.reason
    assert "/mcp?key=***" in caplog.text
    assert "k3y-of-mine" not in caplog.text
