"""A search that is loaded while the crib already answers.

Encoder and index are a quarter of a crib's start, and the first thing that clients ask for, the
list of tools, needs neither. Whoever asks a question meanwhile waits for it. Finds nothing itself:
`toolcrib_registry.search` does.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from toolcrib_adapters.extras import load
from toolcrib_adapters.search.encoder_choice import encoder_part

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.questions import SearchAnswer, SearchRequest
    from toolcrib_registry.search import Search
    from toolcrib_registry.snapshot import Snapshot


class LateSearch:
    """A `toolcrib_registry.questions.ToolSearch` over one catalogue, and a follower of it."""

    def __init__(self, home: Path, encoder: str) -> None:
        """The search of the crib in `home`; nothing is loaded yet.

        Raises:
            ToolError: `invalid_settings` for an encoder that does not exist.
        """
        encoder_part(encoder)
        self._home = home
        self._encoder = encoder
        self._search: Search | None = None
        self._is_wanted = anyio.Event()
        self._is_open = anyio.Event()

    async def open(self, catalogue: Catalogue) -> None:
        """Load encoder and index, and make its words agree with the catalogue."""
        # Importing on a thread leaves the event loop to those whom it can answer already.
        open_engine = await to_thread.run_sync(partial(load, "search.engine"))
        search: Search = await open_engine(self._home, self._encoder)
        known = catalogue.snapshot
        await search.open(known)
        while known is not catalogue.snapshot:
            before, known = known, catalogue.snapshot
            await search.catalogue_changed(before, known)
        self._search = search
        self._is_open.set()

    async def wait_open(self) -> None:
        """Return when questions are answered; hurries nothing."""
        await self._is_open.wait()

    async def run(self, catalogue: Catalogue, head_start_seconds: float) -> None:
        """Open if that is not done, then make vectors and keep the index, until cancelled.

        Opening waits for a question, but no longer than `head_start_seconds`.
        """
        if self._search is None:
            with anyio.move_on_after(head_start_seconds):
                await self._is_wanted.wait()
            await self.open(catalogue)
        search = await self._opened()
        await search.run()

    async def catalogue_changed(self, before: Snapshot, after: Snapshot) -> None:
        """Make the words agree with the catalogue; `open` catches up with what came before it."""
        if self._search is not None:
            await self._search.catalogue_changed(before, after)

    @property
    def shortcoming(self) -> str | None:
        """Why answers may be less than usual now, or come later; None if nothing is amiss."""
        if self._search is None:
            return "the index is being loaded; questions are answered as soon as it is there"
        return self._search.shortcoming

    async def ask(self, request: SearchRequest) -> SearchAnswer:
        """The tools that fit, as soon as the search is open.

        Raises:
            ToolError: `unknown_group`, with the nearest names.
        """
        search = self._search or await self._opened()
        return await search.ask(request)

    async def building(self) -> AsyncIterator[tuple[int, int]]:
        """Vectors that are there, of all, until none is missing; only while `run` works."""
        search = await self._opened()
        async for progress in search.building():
            yield progress

    async def save(self) -> None:
        """Put the index on disk now."""
        search = await self._opened()
        await search.save()

    async def _opened(self) -> Search:
        self._is_wanted.set()
        while self._search is None:
            await self._is_open.wait()
        return self._search
