"""How long lists of sources are kept, what is left of them, and what is shown without them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.adapters.cli.running import COMMAND, Shell
from tests.adapters.surfaces.interaction.counter import started
from tests.adapters.surfaces.passthrough.hall import OFFERING, PATIENCE, hall, over
from toolcrib_adapters.sources.source import ToolsOnly, not_offered
from toolcrib_adapters.surfaces.passthrough.lists import MISSING_META
from toolcrib_adapters.surfaces.passthrough.offer_kinds import PROMPTS, RESOURCES, OfferKind
from toolcrib_adapters.surfaces.passthrough.offerings import Offerings
from toolcrib_protocol.errors import SOURCE_UNAVAILABLE, ErrorKind, ToolError
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.notices import Notice, NoticeKind
from toolcrib_registry.records import SourceKind, SourceRecord

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.ports import CallContext

ODD: list[Json] = [{"name": "good"}, {"no": "name"}, "text", {"name": "better"}]

OFFERS: JsonObject = {"prompts": {}}


@dataclass
class Shop(ToolsOnly):
    """A source in memory, its own `Providers` and `Notices`."""

    entries: list[Json] = field(default_factory=lambda: [{"name": "one"}])
    offers: JsonObject | None = field(default_factory=lambda: {**OFFERS})
    ttl: int = 0
    asked: int = 0
    failure: ToolError | None = None
    listeners: list[Callable[[Notice], None]] = field(default_factory=list)

    def provider(self, source: str) -> Any:
        if source == "gone":
            raise ToolError(SOURCE_UNAVAILABLE, "it does not run", ErrorKind.RETRYABLE)
        return self

    def hear(self, listener: Callable[[Notice], None]) -> Callable[[], None]:
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    def capabilities(self) -> Any:
        return self.offers

    async def request(self, method: str, params: JsonObject, context: CallContext) -> JsonObject:
        self.asked += 1
        if self.failure is not None:
            raise self.failure
        return {"prompts": self.entries, "ttlMs": self.ttl}

    def tell(self) -> None:
        for listener in self.listeners:
            listener(Notice("shop", NoticeKind.PROMPTS_CHANGED))


def opened(shop: Shop) -> tuple[Offerings, HandClock]:
    clock = HandClock()
    return Offerings(shop, shop, clock), clock


async def names(offerings: Offerings) -> list[Json]:
    return [entry["name"] for entry in await offerings.listed("shop", PROMPTS, 5)]


@pytest.mark.promise("pass-odd-entries")
async def test_odd_entries_are_left_out_and_their_siblings_stay() -> None:
    offerings, _ = opened(Shop(ODD))
    assert await names(offerings) == ["good", "better"]


@pytest.mark.parametrize(
    ("ttl", "offers", "seconds"),
    [(0, {"prompts": {}}, 30), (0, {"prompts": {"listChanged": True}}, 300), (7_000, {}, 7)],
)
async def test_a_list_is_kept_as_long_as_its_source_says_or_changes_are_told(
    ttl: int, offers: JsonObject, seconds: float
) -> None:
    shop = Shop(ttl=ttl, offers=offers or {"prompts": {}})
    offerings, clock = opened(shop)
    for expected in (1, 1, 2):
        await names(offerings)
        assert shop.asked == expected
        clock.advance(seconds * 0.6)


async def test_an_older_list_is_shown_while_a_source_cannot_be_asked() -> None:
    shop = Shop()
    offerings, clock = opened(shop)
    assert await names(offerings) == ["one"]
    shop.failure = ToolError(SOURCE_UNAVAILABLE, "away", ErrorKind.RETRYABLE)
    clock.advance(1_000)
    assert await names(offerings) == ["one"]
    offerings.forget(["shop"])
    assert offerings.known("shop", PROMPTS) is None
    with pytest.raises(ToolError, match="away"):
        await names(offerings)
    shop.failure = not_offered("'shop'", "prompts/list")
    assert await names(offerings) == []


async def test_nothing_is_asked_of_a_source_that_offers_no_such_thing() -> None:
    shop = Shop()
    offerings, _ = opened(shop)
    assert await offerings.listed("shop", RESOURCES, 5) == ()
    assert await offerings.listed("gone", PROMPTS, 5) == ()
    assert offerings.known("shop", RESOURCES) == ()
    assert (offerings.part("gone", "prompts"), offerings.is_known("gone")) == (None, True)
    shop.offers = None
    assert (offerings.part("shop", "prompts"), offerings.is_known("shop")) == ({}, False)
    assert shop.asked == 0


@pytest.mark.promise("field-o23-list-changes")
async def test_a_notice_makes_a_new_list_only_of_what_somebody_asked_for() -> None:
    shop, changed = Shop(), list[OfferKind]()
    offerings, clock = opened(shop)
    end = offerings.follow(changed.append)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(offerings.run)
        await anyio.wait_all_tasks_blocked()
        shop.tell()
        await anyio.wait_all_tasks_blocked()
        assert shop.asked == 0
        await names(offerings)
        for name in ("one", "two"):
            shop.entries = [{"name": name}]
            shop.tell()
            with anyio.fail_after(PATIENCE):
                await clock.sleeper(0.2)
            clock.advance(0.2)
            await anyio.wait_all_tasks_blocked()
        assert (shop.asked, changed) == (3, [PROMPTS])
        shop.failure = ToolError(SOURCE_UNAVAILABLE, "away", ErrorKind.RETRYABLE)
        offerings.forget(["shop"])
        end()
        shop.tell()
        with anyio.fail_after(PATIENCE):
            await clock.sleeper(0.2)
        clock.advance(0.2)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert (shop.asked, changed, shop.listeners) == (4, [PROMPTS], [])


@pytest.mark.promise("field-o23-list-changes")
@pytest.mark.parametrize(("tells", "asked"), [(False, 2), (True, 1)])
async def test_a_source_that_tells_no_changes_is_asked_again_now_and_then(
    tells: bool, asked: int
) -> None:
    shop = Shop(offers={"prompts": {"listChanged": tells}}, ttl=1_000_000)
    offerings, clock = opened(shop)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(offerings.run)
        await names(offerings)
        for seconds in (300, 0.2):
            await anyio.wait_all_tasks_blocked()
            clock.advance(seconds)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert shop.asked == asked


async def test_a_list_says_which_sources_are_missing_from_it() -> None:
    async with hall(desk="stdio") as alone:
        desk = next(iter(alone.catalogue.snapshot.sources.values()))
        spec: JsonObject = {"transport": "http", "url": "http://127.0.0.1:1/mcp"}
        dead = SourceRecord("dead", SourceKind.MCP, spec, "dead")
        async with over([desk, dead]) as made, made.client("modern") as client:
            listed = await client.list_prompts()
    assert [prompt.name for prompt in listed.prompts if "greet" in prompt.name] == ["desk__greet"]
    assert listed.meta is not None
    assert list(listed.meta[MISSING_META]) == ["dead"]
    assert "not connected" in listed.meta[MISSING_META]["dead"]


@pytest.mark.promise("pass-prompts")
@pytest.mark.promise("pass-resources")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_that_starts_the_crib_itself_gets_them_over_standard_streams(
    mode: Any, tmp_path: Path
) -> None:
    shell = Shell(tmp_path / "home")
    async with started(OFFERING, "http") as url:
        added = await anyio.to_thread.run_sync(lambda: shell.spawn("add", "desk", "--url", url))
        assert added.code == 0, added.err
        environment = {k: v for k, v in shell.environment.items() if k.startswith("TOOLCRIB_")}
        words = [*COMMAND[1:], "serve", "--stdio", "--no-attach"]
        server = StdioServerParameters(command=COMMAND[0], args=words, env=environment)
        with anyio.fail_after(2 * PATIENCE):
            async with Client(server, mode=mode) as client:
                prompts = (await client.list_prompts()).prompts
                resources = (await client.list_resources()).resources
                (content,) = (await client.read_resource("desk://notes")).contents
    assert "desk__greet" in [prompt.name for prompt in prompts]
    assert [str(one.uri) for one in resources] == ["desk://notes", "desk://picture"]
    assert content.text == "desk: desk://notes"  # type: ignore[union-attr]
