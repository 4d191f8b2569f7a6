"""Bridges one client's standard streams to the running crib, and to the next one if it ends.

Lines pass as they are, one after the other; a side that does not read holds up the other side, and
nothing piles up here. What is said when a crib ends, `conversation.py` decides.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_adapters.surfaces.attach.conversation import Conversation, joined
from toolcrib_adapters.surfaces.attach.greeting import RETIRING, differing, otherwise_set
from toolcrib_adapters.surfaces.attach.link import GONE, open_link
from toolcrib_adapters.surfaces.attach.place import RunAlone
from toolcrib_adapters.surfaces.standard_streams import lines_of, received, write_whole
from toolcrib_adapters.surfaces.stop_signals import stop_signals
from toolcrib_protocol.errors import SOURCE_UNAVAILABLE, ToolError

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolcrib_adapters.surfaces.attach.greeting import Wish
    from toolcrib_adapters.surfaces.attach.link import Link
    from toolcrib_adapters.surfaces.attach.place import Place

_LAST_WORDS_SECONDS: Final = 5.0
"""How long a crib may take to end a conversation whose client has gone."""
_SHORT_LIFE_SECONDS: Final = 5.0
_MOST_SHORT_LIVES: Final = 10
_PAUSE_SECONDS: Final = 0.5


async def bridge(place: Place, wish: Wish, say: Callable[[str], None]) -> None:
    """Serve the process's standard streams from the running crib until the client goes.

    Raises:
        RunAlone: the first crib found is not for this client; nothing was read yet.
        ToolError: no crib can be reached or started.
    """
    async with stop_signals() as stop, anyio.create_task_group() as tasks:

        async def end_when_told() -> None:
            await stop.wait()
            tasks.cancel_scope.cancel()

        tasks.start_soon(end_when_told)
        alone: RunAlone | None = None
        try:
            link = await open_link(place, wish)
        except RunAlone as reason:  # raised in here it would leave as a group
            alone = reason
        else:
            await _Bridge(place, wish, say).run(link)
        tasks.cancel_scope.cancel()
    if alone is not None:
        raise alone


class _Bridge:
    """One client, and the crib it talks to at the moment."""

    def __init__(self, place: Place, wish: Wish, say: Callable[[str], None]) -> None:
        self._place = place
        self._wish = wish
        self._say = say
        self._conversation = Conversation()
        self._link: Link | None = None
        self._linked = anyio.Event()
        self._sending = anyio.Lock()
        self._client_has_gone = False
        self._born = 0.0
        self._short_lives = 0

    async def run(self, link: Link) -> None:
        """Bridge until the client goes, from one crib to the next."""
        async with anyio.create_task_group() as tasks:
            self._introduce(link)
            tasks.start_soon(self._from_client, tasks.cancel_scope)
            while True:
                await self._from_crib(link)
                await self._unlink(link)
                if self._client_has_gone:
                    break
                link = await self._next_link(link)
            tasks.cancel_scope.cancel()

    async def _next_link(self, ended: Link) -> Link:
        """A link to the crib after one that ended.

        Raises:
            ToolError: cribs end as soon as they have started.
        """
        was_short = anyio.current_time() - self._born < _SHORT_LIFE_SECONDS
        # One that was told to end lived as long as it should.
        is_fault = was_short and not ended.is_retiring
        self._short_lives = self._short_lives + 1 if is_fault else 0
        if self._short_lives >= _MOST_SHORT_LIVES:
            raise ToolError(
                SOURCE_UNAVAILABLE,
                f"the crib of {self._place.home} ended {_MOST_SHORT_LIVES} times soon after it "
                f"started; {self._place.log} tells more",
            )
        await anyio.sleep(_PAUSE_SECONDS * self._short_lives)
        try:
            link = await open_link(self._place, self._wish)
        except RunAlone as reason:
            raise ToolError(SOURCE_UNAVAILABLE, f"{reason}; start this client anew") from reason
        self._introduce(link)
        return link

    def _introduce(self, link: Link) -> None:
        self._born = anyio.current_time()
        welcome = link.welcome
        self._say(
            f"toolcrib: {welcome.counts} on standard input and output, by the crib of "
            f"{self._place.home} (process {welcome.pid}), which clients share"
        )
        if welcome.version != self._wish.version:
            self._say(
                f"toolcrib: that crib is toolcrib {welcome.version}, this is "
                f"{self._wish.version}; end it (kill {welcome.pid}) to go on with this one"
            )
        others = otherwise_set(welcome, self._wish)
        if others:
            self._say(
                f"toolcrib: that crib was started with {', '.join(others)}, which is not as set "
                "here; --no-attach runs a crib for this client alone"
            )
        names = differing(welcome, os.environ)
        if names:
            self._say(
                f"toolcrib: the sources of that crib use {', '.join(names)} as set where it was "
                "started, which is not as set here; --no-attach runs a crib for this client alone"
            )

    async def _from_crib(self, link: Link) -> None:
        """Hand on what a crib says, until it ends."""
        try:
            for line in self._conversation.handshake():
                await link.send(line)
            while self._conversation.is_restoring:
                line = await anext(link.lines, b"")
                if not line:
                    return
                await self._to_client(self._conversation.from_crib(line))
            to_crib, to_client = self._conversation.restored()
            for line in to_crib:
                await link.send(line)
        except GONE:
            return
        await self._to_client(to_client)
        self._link = link
        self._linked.set()
        self._linked = anyio.Event()
        async for line in link.lines:
            if line == RETIRING:
                link.is_retiring = True
            else:
                await self._to_client(self._conversation.from_crib(line))
            if link.is_retiring and self._conversation.is_settled:
                async with self._sending:
                    await link.finish()

    async def _unlink(self, link: Link) -> None:
        # Closed first: a line that is being sent fails now, and its sender knows that it did not
        # arrive. Only then is it clear who waits for an answer in vain.
        await link.stream.aclose()
        async with self._sending:
            self._link = None
            told = self._conversation.lost()
        if not self._client_has_gone:
            await self._to_client(told)

    async def _from_client(self, everything: anyio.CancelScope) -> None:
        """Hand on what the client says, until it goes."""

        async def receive() -> bytes:
            return await received(0)

        async for line in lines_of(receive):
            await self._to_crib(line)
        self._client_has_gone = True
        everything.deadline = anyio.current_time() + _LAST_WORDS_SECONDS
        if self._link is None:
            everything.cancel()
        else:
            await self._link.finish()

    async def _to_crib(self, line: bytes) -> None:
        is_request = self._conversation.is_request(line)
        while True:
            link = await self._usable(is_request=is_request)
            async with self._sending:
                if link is not self._link or not link.takes(is_request=is_request):
                    continue
                sent = self._conversation.from_client(line)
                if sent is None:
                    return
                try:
                    await link.send(sent)
                except GONE:
                    # Without its end the line means nothing to the crib: it may go to the next one.
                    self._conversation.unsent(line)
                    link.is_broken = True
                else:
                    return

    async def _usable(self, *, is_request: bool) -> Link:
        while self._link is None or not self._link.takes(is_request=is_request):
            await self._linked.wait()
        return self._link

    async def _to_client(self, lines: list[bytes]) -> None:
        # A client that no longer reads has gone; the end of its other stream tells that.
        with suppress(OSError):
            await write_whole(1, joined(lines))
