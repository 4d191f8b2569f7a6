"""Whether requests make sense here: the store answers and one source is ready, or the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import httpx2
import pytest

from tests.adapters.surfaces.bench import Bench
from tests.adapters.surfaces.doors import over_http
from toolcrib_adapters.surfaces.edge.edge import Backstage
from toolcrib_adapters.surfaces.edge.readiness import Readiness
from toolcrib_protocol.errors import STORE_UNAVAILABLE, ErrorKind, ToolError
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.ports import SourceState, SourceStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolcrib_protocol.json_value import JsonObject

NOW = "2026-12-01T00:00:00+00:00"
READY = SourceState(SourceStatus.READY, NOW)
CONNECTING = SourceState(SourceStatus.CONNECTING, NOW)
FAILED = SourceState(SourceStatus.FAILED, NOW, "it has no legs")
SIGN_IN = SourceState(SourceStatus.NEEDS_SIGN_IN, NOW)

pytestmark = pytest.mark.promise("edge-readiness")


async def answers() -> None:
    """The store is there."""


async def verdict(
    sources: Mapping[str, SourceState | None], *, index: str | None = None, ending: bool = False
) -> JsonObject:
    readiness = Readiness(answers, lambda: sources, lambda: index, HandClock())
    return (await readiness.verdict(is_ending=ending)).as_json()


@pytest.mark.parametrize(
    ("sources", "code"),
    [
        ({}, None),
        ({"a": READY}, None),
        ({"a": READY, "b": FAILED, "c": None, "d": CONNECTING}, None),
        ({"a": CONNECTING}, "connecting"),
        ({"a": None, "b": FAILED}, "connecting"),
        ({"a": FAILED, "b": SIGN_IN}, "no_source_ready"),
    ],
    ids=["none at all", "ready", "one ready", "connecting", "not heard of", "all failed"],
)
async def test_one_ready_source_is_enough(
    sources: Mapping[str, SourceState | None], code: str | None
) -> None:
    told = await verdict(sources)
    assert told["ready"] is (code is None)
    reasons = told["reasons"]
    assert isinstance(reasons, list)
    assert [reason["code"] for reason in reasons if isinstance(reason, dict)] == (
        [] if code is None else [code]
    )


async def test_what_is_amiss_without_being_in_the_way_is_a_note() -> None:
    told = await verdict({"a": READY, "b": FAILED, "c": None, "d": SIGN_IN}, index="vectors: 1/2")
    assert told["ready"] is True
    assert told["notes"] == [
        {"code": "failed", "text": "b: it has no legs"},
        {"code": "needs_sign_in", "text": "d: needs_sign_in"},
        {"code": "connecting", "text": "still connecting: c"},
        {"code": "index", "text": "vectors: 1/2"},
    ]


async def test_a_crib_that_ends_is_not_ready() -> None:
    told = await verdict({"a": READY}, ending=True)
    assert told["reasons"] == [{"code": "ending", "text": "this crib is ending"}]


async def test_a_store_that_cannot_be_asked_is_told_and_asked_once_a_second_at_most() -> None:
    clock = HandClock()
    asked: list[bool] = []

    async def gone() -> None:
        asked.append(True)
        raise ToolError(STORE_UNAVAILABLE, "the disk is away", ErrorKind.RETRYABLE)

    readiness = Readiness(gone, lambda: {"a": READY}, lambda: None, clock)
    for _ in range(5):
        told = await readiness.verdict(is_ending=False)
    assert [reason.text for reason in told.reasons] == ["the disk is away"]
    assert len(asked) == 1
    clock.advance(1)
    await readiness.verdict(is_ending=False)
    assert len(asked) == 2


async def test_a_store_that_is_silent_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolcrib_adapters.surfaces.edge.readiness._STORE_SECONDS", 0.01)
    readiness = Readiness(anyio.sleep_forever, lambda: {"a": READY}, lambda: None, HandClock())
    told = await readiness.verdict(is_ending=False)
    assert [reason.code for reason in told.reasons] == [STORE_UNAVAILABLE]
    assert "gave no answer" in told.reasons[0].text


async def test_the_page_says_it_with_its_status_and_only_under_a_name_of_the_crib() -> None:
    bench, states = await Bench.open(), {"a": FAILED}
    readiness = Readiness(answers, lambda: states, lambda: None, HandClock())
    backstage = Backstage(readiness=readiness)
    async with over_http(bench.server(), backstage=backstage) as url, httpx2.AsyncClient() as http:
        page = url.replace("/mcp", "/readyz")
        failed = await http.get(page)
        states["a"] = READY
        ready = await http.get(page)
        rebound = await http.get(page, headers={"host": "evil.example"})
        live = await http.get(url.replace("/mcp", "/livez"), headers={"host": "evil.example"})
    assert (failed.status_code, failed.json()["ready"]) == (503, False)
    assert (ready.status_code, ready.json()["ready"]) == (200, True)
    assert ready.headers["cache-control"] == "no-store"
    assert (rebound.status_code, live.status_code) == (421, 200)
