"""Resources of sources, listed, read and watched at the endpoints of a crib."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp.client.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, ResourceUpdatedNotification

from tests.adapters.surfaces.passthrough.hall import CALLERS, PATIENCE, UPSTREAMS, Heard, hall
from toolcrib_adapters.surfaces.endpoints import MAIN
from toolcrib_registry.changes import PutSource

if TYPE_CHECKING:
    from mcp.client.client import Client


async def uris(client: Client) -> list[str]:
    return [str(resource.uri) for resource in (await client.list_resources()).resources]


async def text(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    told: str = content.text  # type: ignore[union-attr]
    return told


@pytest.mark.promise("pass-resources")
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("caller", CALLERS)
async def test_resources_and_templates_are_listed_and_read_at_the_endpoint_of_the_group(
    caller: str, upstream: str
) -> None:
    async with hall(desk=upstream) as made, made.client(caller, made.group("desk")) as client:
        listed = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        picture = (await client.read_resource("desk://picture")).contents[0]
        note = await text(client, "desk://note/7")
    assert [str(one.uri) for one in listed] == ["desk://notes", "desk://picture"]
    assert listed[0].icons is not None
    assert listed[0].icons[0].src == "https://example.org/icon.png"
    assert listed[0].meta == {"vendor": 1}
    assert [one.uri_template for one in templates] == ["desk://note/{id}"]
    assert picture.blob == "AAEC"  # type: ignore[union-attr]
    assert note.endswith(": desk://note/7")


@pytest.mark.promise("pass-own-errors")
@pytest.mark.parametrize("upstream", ["http", "http legacy"])
@pytest.mark.parametrize("caller", CALLERS)
async def test_the_refusal_of_a_source_arrives_in_its_words(caller: str, upstream: str) -> None:
    async with hall(desk=upstream) as made, made.client(caller, made.group("desk")) as client:
        with pytest.raises(MCPError) as told:
            await client.read_resource("desk://nothing")
    old = caller == "legacy" and "legacy" in upstream
    assert (told.value.code, told.value.message) == (
        -32002 if old else INVALID_PARAMS,
        "Resource not found",
    )
    assert told.value.data == {"uri": "desk://nothing"}


@pytest.mark.promise("pass-unambiguous")
@pytest.mark.parametrize("caller", CALLERS)
async def test_a_uri_of_two_sources_is_shown_and_understood_with_its_source(caller: str) -> None:
    async with hall(a="stdio", b="stdio") as made, made.client(caller) as client:
        assert await uris(client) == [
            "toolcrib://a/desk://notes",
            "toolcrib://a/desk://picture",
            "toolcrib://b/desk://notes",
            "toolcrib://b/desk://picture",
        ]
        templates = (await client.list_resource_templates()).resource_templates
        assert [one.uri_template for one in templates] == [
            "toolcrib://a/desk://note/{id}",
            "toolcrib://b/desk://note/{id}",
        ]
        assert await text(client, "toolcrib://b/desk://notes") == "b: desk://notes"
        assert await text(client, "toolcrib://a/desk://note/3") == "a: desk://note/3"
        (content,) = (await client.read_resource("toolcrib://B/desk://notes")).contents
        assert str(content.uri) == "toolcrib://b/desk://notes"
        with pytest.raises(MCPError, match="ask for toolcrib://a/desk://notes or toolcrib://b/"):
            await client.read_resource("desk://notes")
        with pytest.raises(MCPError, match="no source of this endpoint has the resource"):
            await client.read_resource("other://notes")


@pytest.mark.promise("pass-unambiguous")
async def test_a_uri_of_one_source_keeps_its_form_beside_sources_without_resources() -> None:
    async with hall(a="stdio", b="stdio plain") as made, made.client("modern") as client:
        assert await uris(client) == ["desk://notes", "desk://picture"]
        assert await text(client, "desk://notes") == "a: desk://notes"
        assert await text(client, "toolcrib://a/desk://notes") == "a: desk://notes"


@pytest.mark.promise("pass-unambiguous")
@pytest.mark.parametrize("caller", CALLERS)
async def test_links_in_answers_are_those_that_can_be_read_here(caller: str) -> None:
    async with (
        hall(a="stdio", b="stdio") as made,
        made.client(caller) as client,
        made.client(caller, made.group("a")) as bare,
    ):
        await uris(client)
        linked: Any = (await client.call_tool("b__link", {})).content
        through: Any = (await client.call_tool("call_tool", {"name": "b__link"})).content
        at_home: Any = (await bare.call_tool("link", {})).content
        assert await text(client, linked[1].resource.uri) == "b: desk://note/9"
    assert [str(block.uri) for block in (linked[0], linked[2])] == [
        "toolcrib://b/desk://notes",
        "https://example.org/page",
    ]
    assert str(through[0].uri) == "toolcrib://b/desk://notes"
    assert str(at_home[0].uri) == "desk://notes"
    assert linked[0].icons[0].mime_type == "image/png"


@pytest.mark.promise("pass-unambiguous")
@pytest.mark.parametrize("caller", CALLERS)
async def test_a_tool_names_its_interface_as_it_can_be_read_here(caller: str) -> None:
    async with (
        hall(a="stdio", b="stdio") as made,
        made.client(caller) as client,
        made.client(caller, made.group("b")) as bare,
    ):
        await uris(client)
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        at_home = {tool.name: tool for tool in (await bare.list_tools()).tools}
    shown, own = tools["b__link"], at_home["link"]
    assert (shown.meta or {})["ui"] == {"resourceUri": "toolcrib://b/desk://notes"}
    assert own.meta == {"ui": {"resourceUri": "desk://notes"}}
    assert own.icons is not None
    assert own.icons[0].src == "https://example.org/icon.png"


@pytest.mark.promise("pass-capabilities")
@pytest.mark.parametrize("caller", CALLERS)
async def test_only_what_a_source_offers_is_said_to_be_offered(caller: str) -> None:
    async with hall(a="stdio", b="stdio plain") as made:
        async with made.client(caller, made.group("a")) as client:
            offered = client.server_capabilities
            assert offered.resources is not None
            assert (offered.resources.subscribe, offered.resources.list_changed) == (True, True)
            assert offered.prompts is not None
            assert offered.completions is not None
            assert offered.logging is not None
        async with made.client(caller, made.group("b")) as client:
            offered = client.server_capabilities
            assert offered.tools is not None
            assert offered.resources is None
            assert offered.prompts is None
            assert offered.completions is None
            assert offered.logging is None
            with pytest.raises(MCPError, match="no source of this endpoint answers resources/list"):
                await client.list_resources()
            with pytest.raises(MCPError, match="no source of this endpoint answers prompts/get"):
                await client.get_prompt("greet")
            with pytest.raises(MCPError, match="answers resources/read"):
                await client.read_resource("desk://notes")


@pytest.mark.promise("pass-subscriptions")
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("endpoint", ["group", "main"])
async def test_an_older_caller_hears_of_what_it_subscribed_to(upstream: str, endpoint: str) -> None:
    heard = Heard()
    async with hall(desk=upstream) as made:
        place = made.group("desk") if endpoint == "group" else MAIN
        async with made.client("legacy", place, message_handler=heard) as client:
            await client.session.subscribe_resource("desk://notes")
            await client.session.subscribe_resource("desk://notes")
            await made.call("desk", "touch", uri="desk://picture")
            await made.call("desk", "touch", uri="desk://notes")
            await heard.until(lambda told: bool(told.of(ResourceUpdatedNotification)))
            await client.session.unsubscribe_resource("desk://notes")
        seen = await made.seen("desk")
    (told,) = heard.of(ResourceUpdatedNotification)
    assert str(told.params.uri) == "desk://notes"
    assert seen["watched"] == ["desk://notes"]


@pytest.mark.promise("pass-subscriptions")
@pytest.mark.parametrize(
    ("upstream", "changed"), [("http", "desk://notes"), ("stdio legacy", "desk://notes/part")]
)
async def test_a_newer_caller_hears_of_it_on_its_stream(upstream: str, changed: str) -> None:
    async with (
        hall(desk=upstream) as made,
        made.client("modern", made.group("desk")) as client,
        client.listen(resource_subscriptions=["desk://notes", "nowhere://x"]) as events,
    ):
        await made.call("desk", "touch", uri=changed)
        with anyio.fail_after(PATIENCE):
            async for event in events:
                assert event == ResourceUpdated("desk://notes")
                break
        assert set((await made.seen("desk"))["watched"]) == {"desk://notes", "nowhere://x"}


@pytest.mark.promise("pass-subscriptions")
async def test_a_source_is_told_once_for_all_callers_and_again_when_the_last_has_left() -> None:
    async with hall(desk="stdio legacy") as made:
        group = made.group("desk")
        async with made.client("legacy", group) as first:
            await first.session.subscribe_resource("desk://notes")
            async with made.client("legacy", group) as second:
                await second.session.subscribe_resource("desk://notes")
            seen = await made.seen("desk")
            assert (seen["watched"], seen["unwatched"]) == (["desk://notes"], [])
        with anyio.fail_after(PATIENCE):
            while (await made.seen("desk"))["unwatched"] != ["desk://notes"]:
                pass


@pytest.mark.promise("pass-subscriptions")
async def test_a_caller_that_subscribes_twice_at_once_is_counted_once() -> None:
    async with hall(desk="http") as made:
        async with (
            made.client("legacy", made.group("desk")) as client,
            anyio.create_task_group() as tasks,
        ):
            for _ in range(5):
                tasks.start_soon(client.session.subscribe_resource, "desk://notes")
        with anyio.fail_after(PATIENCE):
            while (await made.seen("desk"))["unwatched"] != ["desk://notes"]:
                pass
        assert (await made.seen("desk"))["watched"] == ["desk://notes"]


@pytest.mark.promise("pass-subscriptions")
@pytest.mark.parametrize("upstream", ["http", "http legacy"])
async def test_subscriptions_move_to_the_source_that_other_settings_make(upstream: str) -> None:
    heard = Heard()
    async with (
        hall(desk=upstream) as made,
        made.client("legacy", made.group("desk"), message_handler=heard) as client,
    ):
        await client.session.subscribe_resource("desk://notes")
        (record,) = made.catalogue.snapshot.sources.values()
        slower = replace(record, spec={**record.spec, "timeout_seconds": 20})
        await made.catalogue.change(lambda _: [PutSource(slower)])
        await heard.until(lambda told: len(told.of(ResourceUpdatedNotification)) == 1)
        await made.call("desk", "touch", uri="desk://notes")
        await heard.until(lambda told: len(told.of(ResourceUpdatedNotification)) == 2)
