"""A `crib.toml` that a running crib follows: applied at start, and again when it is told to.

Told by SIGHUP, or by a change of the file if it is watched. A file that is wrong is told about and
changes nothing: the crib goes on as it is. Used by `toolcrib serve --config`.
"""

from __future__ import annotations

import signal
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_adapters.declarations.applying import apply, read_declared
from toolcrib_adapters.sources.file_stamps import stamp_of
from toolcrib_protocol.errors import ToolError
from toolcrib_registry.catalogue import Catalogue

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from toolcrib_adapters.declarations.document import Limits, Policies
    from toolcrib_adapters.declarations.reading import DeclaredCrib
    from toolcrib_adapters.sources.file_stamps import Stamp
    from toolcrib_registry.ports import CatalogueStore, Clock

LOOK_SECONDS: Final = 1.0
"""How often a watched file is looked at."""


@asynccontextmanager
async def following(followed: FollowedFile | None, catalogue: Catalogue) -> AsyncIterator[None]:
    """Follow a file, if there is one, while the block runs."""
    if followed is None:
        yield
        return
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(followed.run, catalogue)
        yield
        tasks.cancel_scope.cancel()


class FollowedFile:
    """One file, and what became of it."""

    def __init__(
        self,
        file: Path,
        clock: Clock,
        say: Callable[[str], None],
        *,
        is_watched: bool = False,
        hears_hangup: bool = False,
    ) -> None:
        """A file that was not read yet.

        Args:
            file: where it is.
            clock: time.
            say: where sentences for the operator go.
            is_watched: apply it when it changes.
            hears_hangup: apply it on SIGHUP.
        """
        self._file = file.expanduser().absolute()
        self._clock = clock
        self._say = say
        self._is_watched = is_watched
        self._hears_hangup = hears_hangup
        self._seen: Stamp = None
        self._endpoint: tuple[Limits, Policies] | None = None

    async def start(self, store: CatalogueStore) -> DeclaredCrib:
        """Apply the file before anything runs.

        Raises:
            ToolError: it cannot be applied, with file, line and key.
        """
        return await self._apply(await Catalogue.open(store))

    async def run(self, catalogue: Catalogue) -> None:
        """Apply the file again whenever that is asked for, until cancelled."""
        async with anyio.create_task_group() as tasks:
            if self._is_watched:
                tasks.start_soon(self._watch, catalogue)
            if self._hears_hangup and hasattr(signal, "SIGHUP"):
                tasks.start_soon(self._listen, catalogue)

    async def _watch(self, catalogue: Catalogue) -> None:
        before = self._seen
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            now = stamp_of(self._file)
            # Only once it lies still: who saves in place empties the file first.
            if now != self._seen and now == before:
                await self._apply_again(catalogue)
            before = now

    async def _listen(self, catalogue: Catalogue) -> None:
        with anyio.open_signal_receiver(signal.SIGHUP) as signals:
            async for _ in signals:
                await self._apply_again(catalogue)

    async def _apply_again(self, catalogue: Catalogue) -> None:
        try:
            await self._apply(catalogue)
        except ToolError as error:
            self._say(f"not applied, everything stays as it is: {error.message}")

    async def _apply(self, catalogue: Catalogue) -> DeclaredCrib:
        # Taken before the file is read, so a change while it is read is seen the next time.
        self._seen = stamp_of(self._file)
        declared = await read_declared(self._file)
        decided = await apply(catalogue, declared, self._clock)
        for warning in declared.warnings:
            self._say(f"warning: {warning}")
        told = [f"{d.action} {d.kind} {d.name}" for d in decided.differences]
        self._say(f"{self._file}: {', '.join(told) or 'nothing to change'}")
        self._compare_endpoint(declared)
        return declared

    def _compare_endpoint(self, declared: DeclaredCrib) -> None:
        """Say so if the endpoint, which is open, cannot become what the file says."""
        now = (declared.limits, declared.policies)
        if self._endpoint not in {None, now}:
            self._say(f"{self._file}: limits and policies changed; they hold from the next start")
        self._endpoint = now
