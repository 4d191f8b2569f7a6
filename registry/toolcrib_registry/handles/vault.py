"""The sealed store of kept results: text goes in piece by piece and comes out by range.

Everything is compressed, sealed and written in pieces, off the event loop, a few results at a time,
so that many large results at once need little memory. A handle says nothing by itself, and is
nothing to anybody but the caller whose result it is.
"""

from __future__ import annotations

import zlib
from base64 import b32encode
from dataclasses import dataclass
from functools import partial
from itertools import islice
from secrets import token_bytes
from typing import TYPE_CHECKING, Final

import anyio
from anyio import CapacityLimiter, to_thread

from toolcrib_protocol.errors import AT_CAPACITY, UNKNOWN_HANDLE, ErrorKind, ToolError
from toolcrib_protocol.json_value import dump_json, parse_json
from toolcrib_protocol.large_json import regrouped
from toolcrib_registry.ports import HandleRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.permissions import Caller
    from toolcrib_registry.ports import Clock, HandleStore, Sealer

PREFIX: Final = "h_"
PART_CHARACTERS: Final = 262_144
_PARTS_A_WRITE: Final = 4
_AT_ONCE: Final = 2
_QUICK_AT_ONCE: Final = 8
_NAME_BYTES: Final = 10
_SEAL: Final = "handle"


@dataclass(frozen=True, slots=True)
class Ceilings:
    """How many bytes may be kept at the same time."""

    of_caller: int
    of_all: int


DEFAULT_CEILINGS: Final = Ceilings(of_caller=512 * 1024 * 1024, of_all=2 * 1024 * 1024 * 1024)


@dataclass(frozen=True, slots=True)
class Stream:
    """One text of a kept result: its first part, and how many characters it has."""

    first: int
    characters: int

    def as_json(self) -> JsonObject:
        """The stream as JSON."""
        return {"first": self.first, "characters": self.characters}

    @classmethod
    def read(cls, facts: object) -> Stream:
        """The stream that `as_json` wrote."""
        found = facts if isinstance(facts, dict) else {}
        return cls(int(found.get("first", 0)), int(found.get("characters", 0)))


@dataclass(frozen=True, slots=True)
class Kept:
    """A kept result: its record, and what its sealed facts say."""

    record: HandleRecord
    facts: JsonObject
    streams: tuple[Stream, ...]

    @property
    def name(self) -> str:
        """The handle."""
        return self.record.name


@dataclass(slots=True)
class _Writing:
    """A handle that is being written."""

    name: str
    owner: str
    expires: float
    next_part: int = 0
    size: int = 0


@dataclass(slots=True)
class _Batch:
    """Some sealed parts, and how much was in them."""

    parts: dict[int, bytes]
    characters: int = 0
    size: int = 0


def new_handle() -> str:
    """A handle that nobody guesses."""
    return PREFIX + b32encode(token_bytes(_NAME_BYTES)).decode().lower()


class Vault:
    """Keeps texts under handles, for one caller each."""

    def __init__(
        self,
        store: HandleStore,
        sealer: Sealer,
        clock: Clock,
        *,
        ceilings: Ceilings = DEFAULT_CEILINGS,
        new_name: Callable[[], str] = new_handle,
    ) -> None:
        self._store = store
        self._sealer = sealer
        self._clock = clock
        self._ceilings = ceilings
        self._new_name = new_name
        self._coming: dict[str, int] = {}
        self._keepers = CapacityLimiter(_AT_ONCE)
        self._quick_keepers = CapacityLimiter(_QUICK_AT_ONCE)
        self._workers = CapacityLimiter(_AT_ONCE)

    async def keep(
        self,
        owner: Caller,
        texts: Iterable[Iterable[str]],
        facts: JsonObject,
        seconds: float,
        *,
        is_large: bool = True,
    ) -> Kept:
        """Keep texts for `seconds`; what is not so large need not wait for what is.

        Raises:
            ToolError: `at_capacity` if too much is kept already; what the store raises.
        """
        async with self._keepers if is_large else self._quick_keepers:
            writing = _Writing(self._new_name(), owner.id, self.now() + seconds)
            try:
                streams = [await self._write(writing, text) for text in texts]
                return await self._finish(writing, tuple(streams), facts)
            except BaseException:
                with anyio.CancelScope(shield=True), anyio.move_on_after(5):
                    await self._store.drop(writing.name)
                raise
            finally:
                self._coming[owner.id] = self._coming.get(owner.id, 0) - writing.size
                if not self._coming[owner.id]:
                    del self._coming[owner.id]

    def now(self) -> float:
        """The time, in seconds since 1970."""
        return self._clock.now().timestamp()

    async def find(self, handle: str, caller: Caller) -> Kept:
        """What is kept under a handle of this caller.

        Raises:
            ToolError: `unknown_handle`, whether it never was, is over or is another's.
        """
        record = await self._store.find(handle, self.now())
        if record is None or record.owner != caller.id:
            raise unknown(handle)
        opened = parse_json(self._sealer.open(record.facts, f"{_SEAL} {handle}"))
        facts = opened if isinstance(opened, dict) else {}
        streams = facts.get("streams")
        listed = streams if isinstance(streams, list) else []
        return Kept(record, facts, tuple(Stream.read(stream) for stream in listed))

    async def text(self, kept: Kept, stream: Stream, start: int, end: int) -> str:
        """The characters of a stream from `start` to before `end`.

        Raises:
            ToolError: `unknown_handle` if it expired meanwhile.
        """
        end = min(end, stream.characters)
        if start >= end:
            return ""
        numbers = range(start // PART_CHARACTERS, (end - 1) // PART_CHARACTERS + 1)
        pieces = [await self._part(kept, stream.first + number) for number in numbers]
        offset = numbers.start * PART_CHARACTERS
        return "".join(pieces)[start - offset : end - offset]

    async def drop_expired(self, limit: int = 100) -> int:
        """Forget up to `limit` handles that have expired, and say how many those were."""
        return await self._store.drop_expired(self.now(), limit)

    async def _part(self, kept: Kept, number: int) -> str:
        sealed = await self._store.part(kept.name, number)
        if sealed is None:
            raise unknown(kept.name)
        open_ = partial(self._opened, sealed, f"{_SEAL} {kept.name} {number}")
        return await to_thread.run_sync(open_, limiter=self._workers)

    def _opened(self, sealed: bytes, purpose: str) -> str:
        return zlib.decompress(self._sealer.open(sealed, purpose)).decode("utf-8", "surrogatepass")

    async def _write(self, writing: _Writing, text: Iterable[str]) -> Stream:
        pieces = regrouped(text, PART_CHARACTERS)
        first = writing.next_part
        characters = 0
        while True:
            work = partial(self._sealed, writing, pieces)
            batch = await to_thread.run_sync(work, limiter=self._workers)
            if not batch.parts:
                return Stream(first, characters)
            characters += batch.characters
            writing.next_part += len(batch.parts)
            await self._make_room(writing, batch.size)
            await self._store.put(writing.name, batch.parts, writing.expires)

    def _sealed(self, writing: _Writing, pieces: Iterator[str]) -> _Batch:
        """The next parts, ready to be written; run in a thread."""
        batch = _Batch({})
        for number, piece in enumerate(islice(pieces, _PARTS_A_WRITE), writing.next_part):
            plain = piece.encode("utf-8", "surrogatepass")
            purpose = f"{_SEAL} {writing.name} {number}"
            batch.parts[number] = self._sealer.seal(zlib.compress(plain, 1), purpose)
            batch.characters += len(piece)
            batch.size += len(plain)
        return batch

    async def _make_room(self, writing: _Writing, size: int) -> None:
        """Count `size` more bytes as kept.

        Raises:
            ToolError: `at_capacity`.
        """
        writing.size += size
        self._coming[writing.owner] = self._coming.get(writing.owner, 0) + size
        # Asked anew each time: other processes keep results too.
        before, coming = await self._store.kept(writing.owner, self.now()), self._coming
        if before.of_owner + coming[writing.owner] > self._ceilings.of_caller:
            raise _full(f"{self._ceilings.of_caller:,} bytes are kept for one caller at most")
        if before.of_all + sum(coming.values()) > self._ceilings.of_all:
            raise _full(f"{self._ceilings.of_all:,} bytes are kept at most")

    async def _finish(
        self, writing: _Writing, streams: tuple[Stream, ...], facts: JsonObject
    ) -> Kept:
        told: JsonObject = {**facts, "streams": [stream.as_json() for stream in streams]}
        purpose = f"{_SEAL} {writing.name}"
        sealed = self._sealer.seal(dump_json(told).encode(), purpose)
        record = HandleRecord(writing.name, writing.owner, writing.size, writing.expires, sealed)
        await self._store.finish(record)
        return Kept(record, told, streams)


def unknown(handle: str) -> ToolError:
    """There is no such handle for this caller."""
    text = (
        f"no kept result {handle[:80]!r} for this caller: it may have expired; call the tool again "
        "for a new one"
    )
    return ToolError(UNKNOWN_HANDLE, text)


def _full(why: str) -> ToolError:
    text = f"{why}, and older results have not expired yet; ask the tool for less"
    return ToolError(AT_CAPACITY, text, ErrorKind.RETRYABLE)
