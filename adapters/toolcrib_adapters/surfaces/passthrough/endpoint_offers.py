"""What one endpoint shows besides tools: whose lists, gathered at once, under which names."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_adapters.surfaces.passthrough.offer_kinds import (
    KINDS,
    PROMPTS,
    RESOURCES,
    TEMPLATES,
)
from toolcrib_adapters.surfaces.passthrough.shown_offers import ShownOffers
from toolcrib_protocol.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolcrib_adapters.surfaces.endpoints import Endpoint
    from toolcrib_adapters.surfaces.passthrough.offer_kinds import OfferKind
    from toolcrib_adapters.surfaces.passthrough.offerings import Entries, Offerings
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.notices import Notice

    Lists = dict[str, Entries | None]

_log = logging.getLogger(__name__)

_LIST_SECONDS: Final = 15.0
_COMING_SECONDS: Final = 1.0
"""How long a list waits for a source that was never heard of, where there are others, too."""


class EndpointOffers:
    """The offers of the sources of one endpoint."""

    def __init__(self, offerings: Offerings, catalogue: Catalogue, endpoint: Endpoint) -> None:
        self.offerings = offerings
        self._catalogue = catalogue
        self._endpoint = endpoint
        self._last: tuple[object, ShownOffers] | None = None

    def sources(self, part: str) -> tuple[str, ...]:
        """The sources that offer `part` (a server capability), or may turn out to."""
        visible = self._endpoint.sources(self._catalogue.snapshot)
        return tuple(s.name for s in visible if self.offerings.part(s.name, part) is not None)

    def offers(self, part: str, flag: str | None = None) -> bool:
        """Whether a source of this endpoint offers `part`, with its `flag` set."""
        parts = (self.offerings.part(source, part) for source in self.sources(part))
        return any(flag is None or part == {} or (part or {}).get(flag) is True for part in parts)

    def known(self) -> ShownOffers:
        """What is shown as far as it was read, without asking anybody."""
        parts = (self.sources("resources"), self.sources("prompts"))
        state = (self._catalogue.snapshot.revision, self.offerings.version, parts)
        if self._last is None or self._last[0] != state:
            self._last = state, self._shown({kind: self._known(kind) for kind in KINDS})
        return self._last[1]

    async def read(self, *kinds: OfferKind) -> tuple[ShownOffers, dict[str, str]]:
        """What is shown, with lists of `kinds` that are fresh; and why sources are missing."""
        missing: dict[str, str] = {}
        gathered = {kind: self._known(kind) for kind in KINDS}
        async with anyio.create_task_group() as tasks:
            for kind in kinds:
                for source in gathered[kind]:
                    tasks.start_soon(self._gather, source, kind, gathered[kind], missing)
        return self._shown(gathered), missing

    async def _gather(
        self, source: str, kind: OfferKind, lists: Lists, missing: dict[str, str]
    ) -> None:
        can_wait = len(lists) == 1 or self.offerings.is_known(source)
        seconds = _LIST_SECONDS if can_wait else _COMING_SECONDS
        try:
            lists[source] = await self.offerings.listed(source, kind, seconds)
        except ToolError as error:
            _log.info("%s of %r cannot be listed: %s", kind.key, source, error.message)
            missing[source] = error.message

    def _known(self, kind: OfferKind) -> Lists:
        return {s: self.offerings.known(s, kind) for s in self.sources(kind.part)}

    def _shown(self, lists: dict[OfferKind, Lists]) -> ShownOffers:
        return ShownOffers(
            lists[RESOURCES], lists[TEMPLATES], lists[PROMPTS], is_bare=self._endpoint.is_group
        )

    def hear(self, listener: Callable[[Notice], None]) -> Callable[[], None]:
        """Hand every notice of a source of this endpoint to `listener`; returns what ends it."""

        def mine(notice: Notice) -> None:
            visible = self._endpoint.sources(self._catalogue.snapshot)
            if any(source.name == notice.source for source in visible):
                listener(notice)

        return self.offerings.hear(mine)
