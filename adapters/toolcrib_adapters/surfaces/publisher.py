"""Carries out `toolcrib/publish` in a running crib, for entries and for Python targets.

The decision who may publish is taken where the server is composed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, Protocol

import anyio

from toolcrib_protocol.errors import SOURCE_UNAVAILABLE, TOOL_TIMED_OUT, ErrorKind, ToolError
from toolcrib_registry.changes import PutSource
from toolcrib_registry.ports import SourceStatus
from toolcrib_registry.publishing import (
    Publication,
    PublishedTool,
    PublishReceipt,
    publish,
    register,
)
from toolcrib_registry.records import SourceKind, SourceRecord
from toolcrib_registry.retirement import remove_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_adapters.surfaces.publish_method import PublishWish
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.changes import Change
    from toolcrib_registry.ports import Clock, SourceState
    from toolcrib_registry.snapshot import Snapshot

LONGEST_LOAD_SECONDS: Final = 60.0
"""How long a publication waits for a Python target to load."""
_START_SECONDS: Final = 0.02
# A target that runs already looks at its files every second and loads them in about half of one.
_LOOK_SECONDS: Final = 2.0


class RunningSources(Protocol):
    """What a publisher needs of the supervisor of sources."""

    async def settled(self, source: str) -> SourceState | None:
        """The first state of a running source that is not `connecting`; None if it does not run."""
        ...


class CribPublisher:
    """Publishes into one crib."""

    def __init__(
        self,
        catalogue: Catalogue,
        sources: RunningSources,
        clock: Clock,
        *,
        longest_load_seconds: float = LONGEST_LOAD_SECONDS,
    ) -> None:
        self._longest_load_seconds = longest_load_seconds
        self._catalogue = catalogue
        self._sources = sources
        self._clock = clock

    async def __call__(self, wish: PublishWish) -> PublishReceipt:
        """Publish, and say what became of each tool.

        Raises:
            ToolError: `invalid_name`, `conflict`, `invalid_contract`; `source_unavailable` if a
            Python target cannot be loaded, with its file, line and message; `tool_timed_out` if it
            takes too long.
        """
        if wish.target is None:
            publication = Publication(wish.source, tuple(wish.entries or ()))
            return await publish(self._catalogue, publication, self._clock)
        return await self._publish_target(wish.source, wish.target)

    async def _publish_target(self, source: str, target: str) -> PublishReceipt:
        before = self._catalogue.snapshot
        record = SourceRecord(source, SourceKind.PYTHON, {"target": target}, source)
        await register(self._catalogue, record)
        if before.sources.get(source) == record:
            await self._clock.sleep(_LOOK_SECONDS)
        try:
            await self._loaded(source, target)
        except BaseException:
            # Also when the publisher went away: what nobody was told about must not stay.
            with anyio.CancelScope(shield=True):
                await self._take_back(before.sources.get(source), source)
            raise
        after = self._catalogue.snapshot
        quarantined = after.quarantined.get(source, ())
        return PublishReceipt(after.revision, tuple(_published(before, after, source)), quarantined)

    async def _loaded(self, source: str, target: str) -> None:
        """Return when the tools are in the catalogue.

        Raises:
            ToolError: `source_unavailable`, `tool_timed_out`.
        """
        state = await self._state_of(source)
        if state.status is not SourceStatus.READY:
            raise ToolError(
                SOURCE_UNAVAILABLE,
                f"{target!r} cannot be loaded, so nothing was published as {source!r}: "
                f"{state.reason}; mend it and publish it again",
            )

    async def _take_back(self, known: SourceRecord | None, source: str) -> None:
        """Make the source what it was before: its former settings, or none."""

        def decide(snapshot: Snapshot) -> list[Change]:
            if source not in snapshot.sources:
                return []  # somebody removed it meanwhile
            if known is not None:
                return [PutSource(known)]
            return remove_source(snapshot, source, self._clock.now().isoformat())

        await self._catalogue.change(decide)

    async def _state_of(self, source: str) -> SourceState:
        with anyio.move_on_after(self._longest_load_seconds):
            while True:
                state = await self._sources.settled(source)
                if state is not None:
                    return state
                # The supervisor opens it as soon as it has heard of it.
                await self._clock.sleep(_START_SECONDS)
        raise ToolError(
            TOOL_TIMED_OUT,
            f"{source!r} was not loaded within {self._longest_load_seconds:g} s, so nothing was "
            "published; publish it again, or register it with `toolcrib add` where it may take "
            "longer",
            ErrorKind.RETRYABLE,
        )


def _published(before: Snapshot, after: Snapshot, source: str) -> Iterator[PublishedTool]:
    for tool in after.tools.values():
        if tool.head is not None and tool.head.source == source:
            old = before.tools.get(tool.id)
            status: Literal["added", "unchanged", "changed"]
            status = "added" if old is None else "unchanged" if old == tool else "changed"
            yield PublishedTool(f"{tool.id}@{tool.head_version}", tool.published_name, status)
