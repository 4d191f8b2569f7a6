"""A catalogue in memory with the real search over it, for claims about finding."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio

from tests.registry.samples import NOW, named, next_version
from toolcrib_adapters.search.engine import open_search
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.tool import Contract
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.changes import PutGroup, SetStatus
from toolcrib_registry.memory_store import MemoryStore
from toolcrib_registry.questions import SearchRequest
from toolcrib_registry.records import GroupRecord, StatusRecord, VersionRecord

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from toolcrib_protocol.status import VersionStatus
    from toolcrib_registry.ports import CatalogueStore
    from toolcrib_registry.questions import SearchAnswer
    from toolcrib_registry.search import Search

LONGEST_SECONDS = 60


def tool(name: str, description: str = "", group: str = "kit", **more: object) -> Contract:
    """A contract by keywords."""
    return Contract.model_validate(
        {"group": group, "name": name, "description": description, **more}
    )


@dataclass(slots=True)
class Shelf:
    """A catalogue and a search that follows it."""

    catalogue: Catalogue
    search: Search

    async def put(self, *contracts: Contract) -> None:
        """Publish contracts; one whose name is known becomes the next version."""
        records = [VersionRecord.of(self._numbered(c), c.group, c.name) for c in contracts]
        await self.catalogue.change(
            lambda _: [change for r in records for change in (named(r), *next_version(r))]
        )

    def _numbered(self, contract: Contract) -> Contract:
        known = self.catalogue.snapshot.tools.get(contract.id)
        if known is None:
            return contract
        newest = max(known.versions)
        return contract.model_copy(update={"version": replace(newest, patch=newest.patch + 1)})

    async def put_group(self, name: str, *members: str) -> None:
        """A group of tools that are at home elsewhere."""
        ids = tuple(ToolId(*member.split("/", 1)) for member in members)
        await self.catalogue.change(lambda _: [PutGroup(GroupRecord(name, members=ids))])

    async def mark(self, status: VersionStatus, *tools: str) -> None:
        """Give all versions of tools a status."""
        ids = [ToolId(*text.split("/", 1)) for text in tools]
        snapshot = self.catalogue.snapshot
        await self.catalogue.change(
            lambda _: [
                SetStatus(id_, version, StatusRecord(status, "", NOW))
                for id_ in ids
                for version in snapshot.tools[id_].versions
            ]
        )

    async def finish_vectors(self) -> None:
        """Wait until every vector is made and the index is on disk."""
        with anyio.fail_after(LONGEST_SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self.search.run)
                async for _ in self.search.building():
                    pass
                tasks.cancel_scope.cancel()

    async def ask(
        self,
        *queries: str,
        limit: int = 5,
        group: str | None = None,
        allowed: Callable[[ToolId], bool] | None = None,
    ) -> SearchAnswer:
        """What is found."""
        return await self.search.ask(SearchRequest(queries, allowed, group, limit))

    async def names(self, query: str, limit: int = 5) -> list[str]:
        """The bare names of what one query finds, best first."""
        return [hit.tool.name for hit in (await self.ask(query, limit=limit)).queries[0].hits]


async def open_shelf(
    home: Path,
    *contracts: Contract,
    encoder: str = "default",
    store: CatalogueStore | None = None,
    search: Search | None = None,
) -> Shelf:
    """A shelf over the index in `home`, with every vector made."""
    search = search or await open_search(home, encoder)
    catalogue = await Catalogue.open(store or MemoryStore(), (search,))
    await search.open(catalogue.snapshot)
    shelf = Shelf(catalogue, search)
    if contracts:
        await shelf.put(*contracts)
    await shelf.finish_vectors()
    return shelf


@asynccontextmanager
async def running(shelf: Shelf) -> AsyncIterator[None]:
    """Vectors follow by themselves, as in a running crib."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(shelf.search.run)
        yield
        tasks.cancel_scope.cancel()
