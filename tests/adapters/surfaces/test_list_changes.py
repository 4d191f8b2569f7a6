"""Whom the notifier of list changes remembers, and for how long."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import pytest
from mcp.client.client import Client
from mcp.server.lowlevel import Server
from mcp_types import NotificationParams, ToolListChangedNotification

from toolcrib_adapters.surfaces.list_changes import ListChanges
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.memory_store import MemoryStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.client.session import MessageHandlerFnT

    from toolcrib_registry.records import EndpointMode


class _Listing:
    """A list whose text the test chooses."""

    def __init__(self) -> None:
        self.text = "one"
        self.kept_mode: EndpointMode | None = None

    def stamp(self, mode: EndpointMode | None) -> str:
        return self.text if mode is None else mode


async def notifier(listing: _Listing) -> tuple[ListChanges, Server[None]]:
    """A notifier that gathers changes for no time at all, and a server that runs it."""
    catalogue = await Catalogue.open(MemoryStore())
    changes = ListChanges(
        catalogue, listing.stamp, lambda _ctx: listing.kept_mode, debounce_seconds=0
    )

    @asynccontextmanager
    async def lifespan(_server: Server[None]) -> AsyncIterator[None]:
        async with changes.running():
            yield

    server = Server("test", lifespan=lifespan)
    server.add_notification_handler(
        "notifications/initialized", NotificationParams, changes.client_initialized
    )
    return changes, server


@pytest.mark.promise("field-o34-idle-sessions")
async def test_a_client_that_left_is_forgotten() -> None:
    changes, server = await notifier(_Listing())
    async with Client(server, mode="legacy"), Client(server, mode="legacy"):
        await anyio.wait_all_tasks_blocked()
        assert changes.sessions == 2
    assert changes.sessions == 0


async def test_several_connections_of_one_server_are_told_once_each() -> None:
    listing = _Listing()
    changes, server = await notifier(listing)
    heard: list[str] = []
    both = anyio.Event()

    def ear(name: str) -> MessageHandlerFnT:
        async def note(message: object) -> None:
            if isinstance(message, ToolListChangedNotification):
                heard.append(name)
                if len(heard) >= 2:
                    both.set()

        return note

    async with (
        Client(server, mode="legacy", message_handler=ear("a")),
        Client(server, mode="legacy", message_handler=ear("b")),
    ):
        # Until both have said that they are initialized.
        await anyio.wait_all_tasks_blocked()
        listing.text = "two"
        snapshot = await MemoryStore().snapshot()
        await changes.catalogue_changed(snapshot, snapshot)
        with anyio.fail_after(20):
            await both.wait()
        await anyio.wait_all_tasks_blocked()
    assert sorted(heard) == ["a", "b"]
