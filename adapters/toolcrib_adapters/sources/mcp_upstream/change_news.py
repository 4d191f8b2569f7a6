"""Hears a server of the newer generation say that its lists changed, for as long as it says so."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from toolcrib_adapters.sources.mcp_upstream.wire import Wire
    from toolcrib_registry.ports import Clock

_log = logging.getLogger(__name__)

_LISTEN_AGAIN_SECONDS: Final = 15.0


@dataclass(frozen=True, slots=True)
class Ears:
    """Who is told.

    Attributes:
        suspect: which lists may have changed while nobody listened.
        told: what the server said.
    """

    suspect: Callable[[Collection[str]], None]
    told: Callable[[object], None]


async def hear_changes(wire: Wire, name: str, clock: Clock, ears: Ears) -> None:
    """Hand on what the server called `name` says, until it stops for good."""
    while True:
        try:
            async with wire.listening(wire.tells_changes) as events:
                # What changed between the last list and this moment was told to nobody.
                ears.suspect(wire.tells_changes)
                async for event in events:
                    ears.told(event)
        except MCPError as error:
            # It cannot be listened to: then the timer has to do.
            _log.debug("upstream %r tells no changes: %d", name, error.code)
            return
        except (SubscriptionLost, TimeoutError):
            _log.debug("upstream %r stopped telling changes", name)
        await clock.sleep(_LISTEN_AGAIN_SECONDS)
        # What changed meanwhile is not told again.
        ears.suspect(wire.tells_changes)
