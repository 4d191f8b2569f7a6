"""Whether this process should be sent requests, and if not, why.

The endpoint answers from its stored catalogue at once, so it is ready as soon as one source is; a
source that fails while others work is a note, and an index that is still being built, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_protocol.errors import STORE_UNAVAILABLE, ToolError
from toolcrib_registry.ports import SourceStatus

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.ports import Clock, SourceState

_STORE_SECONDS: Final = 2.0
_FRESH_SECONDS: Final = 1.0
"""The store is asked so often at most, however many ask us."""
_WELL: Final = frozenset({SourceStatus.READY, SourceStatus.CONNECTING, SourceStatus.IDLE})


@dataclass(frozen=True, slots=True)
class Note:
    """One thing that is not as it should be: a fixed word and a sentence."""

    code: str
    text: str

    def as_json(self) -> JsonObject:
        """For the wire."""
        return {"code": self.code, "text": self.text}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Ready exactly if there is no reason against it; notes are for people."""

    reasons: tuple[Note, ...]
    notes: tuple[Note, ...]

    @property
    def is_ready(self) -> bool:
        """Whether requests should come here."""
        return not self.reasons

    def as_json(self) -> JsonObject:
        """For the wire."""
        return {
            "ready": self.is_ready,
            "reasons": [reason.as_json() for reason in self.reasons],
            "notes": [note.as_json() for note in self.notes],
        }


class Readiness:
    """Looks at store, sources and index."""

    def __init__(
        self,
        store_answers: Callable[[], Awaitable[object]],
        sources: Callable[[], Mapping[str, SourceState | None]],
        index_note: Callable[[], str | None],
        clock: Clock,
    ) -> None:
        """Readiness of one crib.

        Args:
            store_answers: a small question to the store; raises `ToolError` if it cannot answer.
            sources: what each source that should run is doing; None if nothing was heard yet.
            index_note: why search is less than usual, or None.
            clock: time.
        """
        self._store_answers = store_answers
        self._sources = sources
        self._index_note = index_note
        self._clock = clock
        self._turn = anyio.Lock()
        self._asked_at = float("-inf")
        self._store_reason: Note | None = None

    async def verdict(self, *, is_ending: bool) -> Verdict:
        """Whether requests should come here now."""
        reasons = [Note("ending", "this crib is ending")] if is_ending else []
        store = await self._store()
        against, notes = _of_sources(self._sources())
        reasons += [reason for reason in (store, against) if reason is not None]
        index = self._index_note()
        return Verdict(tuple(reasons), (*notes, *([] if index is None else [Note("index", index)])))

    async def _store(self) -> Note | None:
        async with self._turn:
            if self._clock.monotonic() - self._asked_at >= _FRESH_SECONDS:
                self._store_reason = await self._ask_store()
                self._asked_at = self._clock.monotonic()
            return self._store_reason

    async def _ask_store(self) -> Note | None:
        with anyio.move_on_after(_STORE_SECONDS):
            try:
                await self._store_answers()
            except ToolError as error:
                return Note(error.code, error.message)
            return None
        return Note(STORE_UNAVAILABLE, f"the store gave no answer within {_STORE_SECONDS:g} s")


def _of_sources(
    sources: Mapping[str, SourceState | None],
) -> tuple[Note | None, list[Note]]:
    """What speaks against readiness, and what is only worth a note."""
    connecting = [
        name
        for name, state in sources.items()
        if state is None or state.status is SourceStatus.CONNECTING
    ]
    failed = {
        name: state
        for name, state in sources.items()
        if state is not None and state.status not in _WELL
    }
    notes = [
        Note(state.status.value, f"{name}: {state.reason or state.status.value}")
        for name, state in failed.items()
    ]
    if connecting:
        notes.append(Note("connecting", f"still connecting: {', '.join(sorted(connecting))}"))
    if not sources or len(connecting) + len(failed) < len(sources):
        return None, notes
    if connecting:
        return Note("connecting", "no source is ready yet, some are still connecting"), notes
    return Note("no_source_ready", "no source is ready; the notes say why"), notes
