"""Changes of lists, from the source to the callers: re-listed seldom, told once, if they show."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import pytest
from mcp_types import (
    PromptListChangedNotification,
    ResourceListChangedNotification,
    ToolListChangedNotification,
)

from tests.adapters.surfaces.passthrough.hall import PATIENCE, UPSTREAMS, Heard, hall
from toolcrib_adapters.settling import Settling
from toolcrib_registry.hand_clock import HandClock

if TYPE_CHECKING:
    from anyio.abc import TaskStatus
    from mcp.client.client import Client

LISTS = (PromptListChangedNotification, ResourceListChangedNotification)


async def look(client: Client) -> tuple[int, int]:
    prompts = (await client.list_prompts()).prompts
    resources = (await client.list_resources()).resources
    return len(prompts), len(resources)


@dataclass
class Events:
    """What a newer client hears on its stream."""

    names: list[str] = field(default_factory=list)

    async def hear(self, client: Client, *, task_status: TaskStatus[None]) -> None:
        async with client.listen(
            prompts_list_changed=True, resources_list_changed=True, tools_list_changed=True
        ) as events:
            task_status.started()
            async for event in events:
                self.names.append(type(event).__name__)


@pytest.mark.promise("field-o23-list-changes")
@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_fifty_notices_in_a_second_make_two_new_lists_and_one_notice_to_callers(
    upstream: str,
) -> None:
    older, newer = Heard(), Events()
    async with (
        hall(desk=upstream) as made,
        made.client("legacy", message_handler=older) as client,
        made.client("modern") as modern,
        anyio.create_task_group() as tasks,
    ):
        assert await look(client) == (2, 2)
        await tasks.start(newer.hear, modern)
        before = (await made.seen("desk"))["asked"]
        await made.call("desk", "change", name="new", times=50, pause=0.02)
        await older.until(lambda told: all(told.of(kind) for kind in LISTS))
        assert await look(client) == (3, 3)
        after = (await made.seen("desk"))["asked"]
        tasks.cancel_scope.cancel()
    for method in ("prompts/list", "resources/list", "tools/list"):
        assert after[method] - before[method] <= 2
    assert [len(older.of(kind)) for kind in LISTS] == [1, 1]
    assert older.of(ToolListChangedNotification) == []
    assert sorted(newer.names) == ["PromptsListChanged", "ResourcesListChanged"]


@pytest.mark.promise("field-o23-list-changes")
async def test_a_notice_after_which_nothing_looks_different_is_kept_from_callers() -> None:
    heard, at_group = Heard(), Heard()
    async with (
        hall(desk="http", other="stdio") as made,
        made.client("legacy", message_handler=heard) as client,
        made.client("legacy", made.group("desk"), message_handler=at_group),
    ):
        await look(client)
        await made.call("desk", "change")
        # The endpoint of the group says what its source says; the main one looks first.
        await at_group.until(lambda told: all(told.of(kind) for kind in LISTS))
        await at_group.until(lambda told: bool(told.of(ToolListChangedNotification)))
        await made.call("other", "change", name="new")
        await heard.until(lambda told: all(told.of(kind) for kind in LISTS))
    assert [len(heard.of(kind)) for kind in LISTS] == [1, 1]


@pytest.mark.promise("field-o23-list-changes")
async def test_a_source_that_leaves_takes_its_prompts_with_it_and_callers_are_told() -> None:
    heard = Heard()
    async with (
        hall(a="stdio", b="stdio") as made,
        made.client("legacy", message_handler=heard) as client,
    ):
        assert await look(client) == (4, 4)
        await made.remove("b")
        await heard.until(lambda told: all(told.of(kind) for kind in LISTS))
        assert await look(client) == (2, 2)
        uris = [str(one.uri) for one in (await client.list_resources()).resources]
    assert uris == ["desk://notes", "desk://picture"]


async def test_a_burst_is_over_when_it_is_quiet_or_has_gone_on_for_too_long() -> None:
    clock = HandClock()
    settling = Settling(clock, 0.2, 0.8)
    settled: list[float] = []

    async def watch() -> None:
        while True:
            await settling.settled()
            settled.append(round(clock.monotonic() - began, 3))

    began = clock.monotonic()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            for _ in range(10):
                settling.stir()
                await clock.sleeper(0.2)
                clock.advance(0.1)
                settling.stir()
                await anyio.wait_all_tasks_blocked()
                clock.advance(0.1)
                await anyio.wait_all_tasks_blocked()
            clock.advance(0.5)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
    assert len(settled) == 3
