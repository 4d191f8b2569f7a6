"""A crib on its local socket: the lock that makes it the only one, and what it gives there.

Used by the process that clients share (`crib_process.py`) and by `toolcrib serve` over HTTP.
"""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_adapters.expansion import variables_in
from toolcrib_adapters.surfaces.attach.greeting import Wish, digest
from toolcrib_adapters.surfaces.attach.link import ask, turn
from toolcrib_adapters.surfaces.attach.listener import Identity, Listener
from toolcrib_adapters.surfaces.attach.place import Place, check_free, held
from toolcrib_adapters.surfaces.cli.running_crib import called, counts
from toolcrib_adapters.surfaces.cli.wishes import told_settings
from toolcrib_adapters.surfaces.endpoints import shown
from toolcrib_protocol.errors import SOURCE_UNAVAILABLE, ErrorKind, ToolError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection
    from contextlib import ExitStack

    from toolcrib_adapters.settings import CribSettings
    from toolcrib_adapters.surfaces.attach.greeting import Welcome
    from toolcrib_adapters.surfaces.cli.running_crib import ReadyCrib
    from toolcrib_adapters.surfaces.endpoint_servers import EndpointServers
    from toolcrib_adapters.surfaces.mcp_server import CribServer
    from toolcrib_protocol.json_value import JsonObject

_PREDECESSOR_SECONDS: Final = 60.0
"""How long the end of another crib is waited for: its sources may take a while to end."""
_POLL_SECONDS: Final = 0.05


@dataclass(eq=False, slots=True)
class SharedCrib:
    """A running crib as `toolcrib_adapters.surfaces.attach.listener.Served`."""

    ready: ReadyCrib
    _servers: dict[bool, EndpointServers] = field(default_factory=dict)

    def counts(self) -> str:
        """How much there is, in words."""
        return counts(self.ready.crib)

    def variables(self) -> Collection[str]:
        """The variables that sources are filled in with or inherit."""
        sources = self.ready.crib.catalogue.snapshot.sources.values()
        names = {name for record in sources for name in variables_in(record.spec)}
        for record in sources:
            inherited = record.spec.get("inherit_env")
            names |= {str(name) for name in inherited} if isinstance(inherited, list) else set()
        return names

    def server(self, wish: Wish) -> CribServer:
        """The endpoint that a client asks for.

        Raises:
            ToolError: there is no such group or profile.
        """
        if wish.publishes not in self._servers:
            self._servers[wish.publishes] = self.ready.servers(publishes=wish.publishes)
        return self._servers[wish.publishes].at(shown(wish.group, wish.profile, wish.mode))

    async def call(self, wish: JsonObject) -> JsonObject:
        """Call one tool for the command line."""
        return await called(self.ready.crib, wish)


@asynccontextmanager
async def listening(
    ready: ReadyCrib, settings: CribSettings, url: str | None = None, *, publishes: bool = True
) -> AsyncIterator[Listener]:
    """The local socket of a crib whose lock is held; what runs is answered at the end.

    Args:
        ready: what is served.
        settings: what it was opened with.
        url: where it is served over HTTP; None if clients started it.
        publishes: whether clients may be allowed to publish.
    """
    identity = Identity(
        version=version("toolcrib"),
        kind="http" if url else "stdio",
        database=digest(settings.database or ""),
        settings=told_settings(settings),
        environment=os.environ,
        url=url,
        publishes=publishes,
    )
    listener = Listener(SharedCrib(ready), identity)
    socket = Place(settings.home).socket
    async with anyio.create_task_group() as tasks:
        await tasks.start(listener.serve, socket)
        try:
            yield listener
        finally:
            with anyio.CancelScope(shield=True):
                # Nobody new: whoever comes now starts the next crib, which waits for the lock.
                socket.unlink(missing_ok=True)
                await listener.drain(ready.crib.calls.interrupt)
        tasks.cancel_scope.cancel()


def owner_of(settings: CribSettings) -> JsonObject:
    """What the holder of the lock writes about itself."""
    socket = os.fspath(Place(settings.home).socket)
    return {"pid": os.getpid(), "socket": socket, "version": version("toolcrib")}


async def take_lock(settings: CribSettings, locks: ExitStack) -> Welcome | None:
    """Hold the lock of a home's crib in `locks`; or what the crib says that listens already.

    Raises:
        ToolError: another one neither listens nor ends, or what is no socket is in the way.
    """
    place = Place(settings.home)
    place.make_home()
    with anyio.move_on_after(_PREDECESSOR_SECONDS):
        while not locks.enter_context(held(place.lock, owner_of(settings))):
            there = await ask(place, Wish(ask="status"))
            if there is not None:
                return there
            await anyio.sleep(_POLL_SECONDS)
        # Before sources start and clients come: it would fail only then.
        check_free(place.socket)
        return None
    raise ToolError(
        SOURCE_UNAVAILABLE,
        f"another crib of {place.home} (process {place.owner().get('pid', '?')}) holds "
        f"{place.lock} and does not answer; end that process",
        ErrorKind.NEEDS_HUMAN,
    )


async def take_over(settings: CribSettings, locks: ExitStack) -> Welcome | None:
    """As `take_lock`, but a crib that clients started is asked to make way; they follow.

    Raises:
        ToolError: it neither listens nor ends.
    """
    place = Place(settings.home)
    place.make_home()
    # As long as it is our turn no client starts a crib that would be first.
    async with turn(place):
        there = await take_lock(settings, locks)
        with anyio.move_on_after(_PREDECESSOR_SECONDS):
            while there is not None and there.kind == "stdio":
                await ask(place, Wish(ask="retire"))
                await anyio.sleep(_POLL_SECONDS)
                there = await take_lock(settings, locks)
    return there
