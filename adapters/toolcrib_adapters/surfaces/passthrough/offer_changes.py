"""Tells the callers of one endpoint that its resources or prompts changed, if what they saw did.

A list counts as seen once it was an answer. What came of sources later is compared with that, so
the first look at a source that nobody has asked about is no change.
"""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from mcp.server.subscriptions import PromptsListChanged, ResourcesListChanged

from toolcrib_adapters.settling import Settling
from toolcrib_adapters.surfaces.passthrough.offer_kinds import KINDS, PROMPTS
from toolcrib_protocol.json_value import dump_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_adapters.surfaces.list_changes import ListChanges
    from toolcrib_adapters.surfaces.passthrough.endpoint_offers import EndpointOffers
    from toolcrib_adapters.surfaces.passthrough.offer_kinds import OfferKind
    from toolcrib_adapters.surfaces.passthrough.shown_offers import ShownOffers
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.ports import Clock
    from toolcrib_registry.snapshot import Snapshot

_QUIET_SECONDS: Final = 0.5
_LONGEST_SECONDS: Final = 2.0


class OfferChanges:
    """The lists that the callers of one endpoint have seen."""

    def __init__(self, offers: EndpointOffers, clients: ListChanges, clock: Clock) -> None:
        self._offers = offers
        self._clients = clients
        self._settling = Settling(clock, _QUIET_SECONDS, _LONGEST_SECONDS)
        self._seen: dict[OfferKind, str] = {}
        self._announced: set[OfferKind] = set()

    def answered(self, kind: OfferKind, shown: ShownOffers) -> None:
        """A caller was given this list."""
        self._seen.setdefault(kind, _stamp(kind, shown))

    async def catalogue_changed(self, before: Snapshot, after: Snapshot) -> None:
        """Look again if sources came, went or moved to another group."""
        self._offers.offerings.forget(before.sources.keys() - after.sources.keys())
        if before.sources != after.sources or before.profiles != after.profiles:
            self._settling.stir()

    def announce(self, kind: OfferKind) -> None:
        """Tell callers, with this burst, whether the list looks another or not."""
        self._announced.add(kind)
        self._settling.stir()

    def _changed(self, kind: OfferKind) -> None:
        if kind in self._seen:
            self._settling.stir()

    @contextmanager
    def following(self, catalogue: Catalogue) -> Iterator[None]:
        """Hear of what changes while the block runs."""
        end = self._offers.offerings.follow(self._changed)
        catalogue.followers = (*catalogue.followers, self)
        try:
            yield
        finally:
            end()
            followers = list(catalogue.followers)
            followers.remove(self)
            catalogue.followers = tuple(followers)

    async def keep_telling(self) -> None:
        """Tell callers until cancelled."""
        while True:
            await self._settling.settled()
            shown = self._offers.known()
            announced, self._announced = self._announced, set()
            changed = announced | {kind for kind in KINDS if self._differs(kind, shown)}
            if changed - {PROMPTS}:
                await self._clients.tell(ResourcesListChanged())
            if PROMPTS in changed:
                await self._clients.tell(PromptsListChanged())

    def _differs(self, kind: OfferKind, shown: ShownOffers) -> bool:
        """Whether callers have seen another list than this one; it counts as seen from now on."""
        if kind not in self._seen:
            return False
        before, self._seen[kind] = self._seen[kind], _stamp(kind, shown)
        return before != self._seen[kind]


def _stamp(kind: OfferKind, shown: ShownOffers) -> str:
    return hashlib.sha256(dump_json([*shown.entries(kind)]).encode()).hexdigest()
