"""The list of one upstream's tools: asked for at the start, and anew when there is a reason.

A reason is a notice of the server, a tool that is not known any more, somebody's wish, or time.
Lists go to the host raw; judging them is the registry's part.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Final

from toolcrib_adapters.settling import Settling
from toolcrib_adapters.sources.mcp_upstream.failures import RequestError
from toolcrib_adapters.sources.mcp_upstream.tool_list import tools_of
from toolcrib_adapters.sources.relisting import Relisting
from toolcrib_protocol.errors import ToolError
from toolcrib_registry.listing import Listing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from toolcrib_adapters.sources.mcp_upstream.wire import Wire
    from toolcrib_adapters.sources.source import SourceHost
    from toolcrib_registry.ports import Clock

_LIST_AGAIN_SECONDS: Final = 300.0
"""Upstreams that cannot say that their list changed are asked this often."""
_LIST_FAILED_SECONDS: Final = 15.0
_SUSPECT_SECONDS: Final = 30.0
"""How often the news that a tool is unknown may make the list be asked for."""
_SETTLE_SECONDS: Final = 0.2
"""Notices that the list changed come in bursts; one new list answers them all."""
_LONGEST_SETTLE_SECONDS: Final = 0.8
"""A burst of one second then makes two new lists at most, and a single change shows at once."""
_LONGEST_INSTRUCTIONS: Final = 4_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of listing again: the reason why there is no list, or one that was announced."""

    failure: str = ""
    is_told: bool = False


class Listings:
    """When the tools of one upstream are listed.

    Attributes:
        wishes: who waits for a list.
    """

    def __init__(self, source: str, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self.wishes = Relisting()
        self._again = self._settling()
        self._is_told = False
        self._fresh_seconds = 0.0
        self._suspected_at = -inf

    def _settling(self) -> Settling:
        return Settling(self._clock, _SETTLE_SECONDS, _LONGEST_SETTLE_SECONDS)

    def begin(self) -> None:
        """A new connection is being made; reasons of the last one are over."""
        self._again = self._settling()

    def stir(self) -> None:
        """There is a reason to list again."""
        self._again.stir()

    def told(self) -> None:
        """The server said that its list changed; others hear of it when it is there."""
        self._is_told = True
        self._again.stir()

    def suspect(self) -> None:
        """Perhaps a tool is gone: the next list tells."""
        now = self._clock.monotonic()
        if now - self._suspected_at >= _SUSPECT_SECONDS:
            self._suspected_at = now
            self._again.stir()

    async def list(self, host: SourceHost, wire: Wire) -> None:
        """Ask for the list and hand it to the host.

        Raises:
            RequestError: the server did not answer.
            ToolError: it cannot be accepted.
        """
        with self.wishes.round():
            listed = await tools_of(wire)
            wire.learn_headers(listed.entries)
            self._fresh_seconds = listed.fresh_seconds
            instructions = wire.instructions[:_LONGEST_INSTRUCTIONS]
            await host.listed(Listing(self._source, listed.entries, wire.title, instructions))

    async def kept(self, host: SourceHost, wire: Wire) -> AsyncIterator[Outcome]:
        """List again whenever there is a reason, until cancelled; tells what became of it."""
        while True:
            await self.wishes.rest(self._clock)
            await self._again.settled()
            try:
                await self.list(host, wire)
            except (RequestError, ToolError) as error:
                # The stored list stays as it is; the reason is for people.
                yield Outcome(f"the tools could not be listed again: {error}")
                await self._clock.sleep(_LIST_FAILED_SECONDS)
                self._again.stir()
            else:
                is_told, self._is_told = self._is_told, False
                yield Outcome(is_told=is_told)

    async def remind(self) -> None:
        """List again after a while in any case, until cancelled."""
        while True:
            await self._clock.sleep(max(_LIST_AGAIN_SECONDS, self._fresh_seconds))
            self._again.stir()
