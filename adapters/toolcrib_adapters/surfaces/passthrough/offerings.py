"""What the sources of a crib offer besides tools, as they listed it; asked for only when wanted.

One for all endpoints. A list is kept for as long as its source says that it holds, or until the
source says that it changed: then it is read again, once for a whole burst of notices, if anybody
ever asked for such lists. Which endpoint shows what is not decided here.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Final

import anyio
from anyio.lowlevel import checkpoint

from toolcrib_adapters.raw_pages import every_page
from toolcrib_adapters.settling import Settling
from toolcrib_adapters.surfaces.passthrough.offer_kinds import PROMPTS, RESOURCES, TEMPLATES
from toolcrib_protocol.errors import NOT_OFFERED, ToolError
from toolcrib_registry.notices import NoticeKind
from toolcrib_registry.permissions import LOCAL_CALLER
from toolcrib_registry.ports import CallContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from toolcrib_adapters.raw_pages import RawPages
    from toolcrib_adapters.surfaces.passthrough.offer_kinds import OfferKind
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.notices import Notice
    from toolcrib_registry.ports import Clock, Notices, Provider, Providers

_log = logging.getLogger(__name__)

_SETTLE_SECONDS: Final = 0.2
_LONGEST_SETTLE_SECONDS: Final = 0.8
_FRESH_SECONDS: Final = 30.0
"""How long a list is kept whose source says nothing about that."""
_TOLD_SECONDS: Final = 300.0
"""How long it is kept if the source says when it changes."""
_RELIST_SECONDS: Final = 30.0
_REMIND_SECONDS: Final = 300.0
_JUDGED_AT_ONCE: Final = 100
_OF_NOTICE: Final = {
    NoticeKind.PROMPTS_CHANGED: (PROMPTS,),
    NoticeKind.RESOURCES_CHANGED: (RESOURCES, TEMPLATES),
}
Entries = tuple["JsonObject", ...]


@dataclass(frozen=True, slots=True)
class _Kept:
    entries: Entries
    until: float


class Offerings:
    """The lists of all running sources; used from one event loop."""

    def __init__(self, providers: Providers, notices: Notices, clock: Clock) -> None:
        self._providers = providers
        self._notices = notices
        self._clock = clock
        self._kept: dict[tuple[str, OfferKind], _Kept] = {}
        self._locks: defaultdict[tuple[str, OfferKind], anyio.Lock] = defaultdict(anyio.Lock)
        self._wanted: set[OfferKind] = set()
        self._stale: set[tuple[str, OfferKind]] = set()
        self._settling = Settling(clock, _SETTLE_SECONDS, _LONGEST_SETTLE_SECONDS)
        self._followers: dict[object, Callable[[OfferKind], None]] = {}
        self.version = 0
        """Another one whenever a list is."""

    def provider(self, source: str) -> Provider:
        """The running source of that name.

        Raises:
            ToolError: `source_unavailable`.
        """
        return self._providers.provider(source)

    def hear(self, listener: Callable[[Notice], None]) -> Callable[[], None]:
        """Hand every notice of a running source to `listener`; returns what ends it."""
        return self._notices.hear(listener)

    def follow(self, changed: Callable[[OfferKind], None]) -> Callable[[], None]:
        """Call `changed` after a list became another one; returns what ends it."""
        token = object()
        self._followers[token] = changed

        def end() -> None:
            self._followers.pop(token, None)

        return end

    def part(self, source: str, name: str) -> JsonObject | None:
        """A server capability of a source; None without it, `{}` while nobody knows yet."""
        try:
            capabilities = self._providers.provider(source).capabilities()
        except ToolError:
            return None
        if capabilities is None:
            return {}
        part = capabilities.get(name)
        return part if isinstance(part, dict) else None

    def is_known(self, source: str) -> bool:
        """Whether the source has said what it offers."""
        try:
            return self._providers.provider(source).capabilities() is not None
        except ToolError:
            return True

    def known(self, source: str, kind: OfferKind) -> Entries | None:
        """The newest list that was read, fresh or not; None if none was."""
        if self.part(source, kind.part) is None:
            return ()
        kept = self._kept.get((source, kind))
        return None if kept is None else kept.entries

    async def listed(self, source: str, kind: OfferKind, seconds: float) -> Entries:
        """The list of a source; an older one if it cannot be read now.

        Raises:
            ToolError: there is none.
        """
        self._wanted.add(kind)
        if self.part(source, kind.part) is None:
            return ()
        key = (source, kind)
        async with self._locks[key]:
            kept = self._kept.get(key)
            if kept is not None and self._clock.monotonic() < kept.until:
                return kept.entries
            try:
                return await self._read(source, kind, seconds)
            except ToolError as error:
                if error.code == NOT_OFFERED:
                    return ()
                if kept is None:
                    raise
                return kept.entries

    async def _read(self, source: str, kind: OfferKind, seconds: float) -> Entries:
        provider = self._providers.provider(source)
        context = CallContext(seconds, LOCAL_CALLER)

        async def ask(params: JsonObject) -> JsonObject:
            return await provider.request(kind.method, params, context)

        began = self._clock.monotonic()
        pages = await every_page(ask, kind.method, kind.key)
        entries = await _sound(source, kind, pages)
        before = self._kept.get((source, kind))
        self.version += 1
        self._kept[source, kind] = _Kept(entries, began + self._lasts(source, kind, pages))
        self._stale.discard((source, kind))
        if before is not None and before.entries != entries:
            for changed in list(self._followers.values()):
                changed(kind)
        return entries

    def _lasts(self, source: str, kind: OfferKind, pages: RawPages) -> float:
        part = self.part(source, kind.part) or {}
        usual = _TOLD_SECONDS if part.get("listChanged") is True else _FRESH_SECONDS
        return pages.fresh_seconds or usual

    def forget(self, sources: Iterable[str]) -> None:
        """Let go of what sources listed that are gone."""
        gone = set(sources)
        for key in [key for key in self._kept if key[0] in gone]:
            del self._kept[key]
            self.version += 1

    async def run(self) -> None:
        """Read again what sources say has changed, until cancelled."""
        end = self._notices.hear(self._note)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._remind)
                await self._keep_reading()
        finally:
            end()

    async def _keep_reading(self) -> None:
        while True:
            await self._settling.settled()
            stale, self._stale = self._stale, set()
            async with anyio.create_task_group() as tasks:
                for source, kind in stale:
                    tasks.start_soon(self._read_again, source, kind)

    async def _remind(self) -> None:
        """Read what was read before again, now and then, where nobody says that it changed."""
        while True:
            await self._clock.sleep(_REMIND_SECONDS)
            for key in list(self._kept):
                part = self.part(key[0], key[1].part)
                if part is not None and part.get("listChanged") is not True:
                    self._expire(key)

    def _expire(self, key: tuple[str, OfferKind]) -> None:
        kept = self._kept.get(key)
        if kept is not None:
            self._kept[key] = _Kept(kept.entries, -inf)
        if key[1] in self._wanted:
            self._stale.add(key)
            self._settling.stir()

    def _note(self, notice: Notice) -> None:
        for kind in _OF_NOTICE.get(notice.kind, ()):
            self._expire((notice.source, kind))

    async def _read_again(self, source: str, kind: OfferKind) -> None:
        had = (source, kind) in self._kept
        try:
            await self.listed(source, kind, _RELIST_SECONDS)
        except ToolError as error:
            # Whoever asks next asks the source again.
            _log.info("%s of %r cannot be listed again: %s", kind.key, source, error.message)
            return
        if not had:
            for changed in list(self._followers.values()):
                changed(kind)


async def _sound(source: str, kind: OfferKind, pages: RawPages) -> Entries:
    """The entries that can be shown, each judged alone."""
    sound: list[JsonObject] = []
    for position, entry in enumerate(pages.entries):
        if position % _JUDGED_AT_ONCE == 0:
            # Judging is work, and calls that wait must not wait for a long list.
            await checkpoint()
        fault = kind.fault_of(entry)
        if fault is None and isinstance(entry, dict):
            sound.append(entry)
        else:
            _log.warning("%r: entry %d of %s is left out: %s", source, position, kind.key, fault)
    return tuple(sound)
