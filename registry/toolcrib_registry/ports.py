"""What the registry needs from the outside world, as Protocols; adapters fill them, a file each.

The memory implementations that tests use (`memory_store.py`, `hand_clock.py`) are real and shipped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

from toolcrib_registry.interaction import NOBODY

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.names import ToolId
    from toolcrib_protocol.result import Result
    from toolcrib_registry.changes import Change
    from toolcrib_registry.interaction import Interaction
    from toolcrib_registry.notices import Notice
    from toolcrib_registry.permissions import Caller
    from toolcrib_registry.snapshot import Snapshot


class Clock(Protocol):
    """Time, so that tests can drive it by hand."""

    def now(self) -> datetime:
        """The time of day, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        ...


class RevisionConflict(Exception):  # noqa: N818 - it is an answer, not a fault
    """Somebody else committed first; read their changes and decide again."""

    def __init__(self, current: int) -> None:
        super().__init__(f"the catalogue is at revision {current} already")
        self.current = current


@dataclass(frozen=True, slots=True)
class ChangeFeed:
    """All changes after the revision that was asked about, up to `revision`, in commit order."""

    revision: int
    changes: tuple[Change, ...]


class CatalogueStore(Protocol):
    """Where the catalogue is kept. The store is the truth; snapshots and indexes follow it."""

    async def snapshot(self) -> Snapshot:
        """The whole state at its present revision."""
        ...

    async def commit(self, changes: Sequence[Change], expected_revision: int) -> int:
        """Make all `changes` durable at once, as one new revision, and return its number.

        Raises:
            RevisionConflict: the catalogue is not at `expected_revision` any more; nothing was
                written.
            ToolError: `conflict`, `store_busy` or `store_unavailable`.
        """
        ...

    async def commit_next(
        self, decide: Callable[[Snapshot], Sequence[Change]], known: Snapshot
    ) -> Snapshot:
        """Let `decide` choose the changes on the newest state while others wait, and commit them.

        For a writer that keeps losing: one that commits without a pause always sees the newest
        state first. `decide` is called at most once, maybe on another thread, and no longer than
        others can wait; if it wants no changes, nothing is written. `known` spares reading again.

        Returns:
            The newest state, with the changes.

        Raises:
            ToolError: `store_busy` or `store_unavailable`, or what `decide` raised.
        """
        ...

    async def changes_since(self, revision: int) -> ChangeFeed | None:
        """What was committed after `revision`; None if that is too long ago to tell (reload)."""
        ...

    async def wait_changed(self, revision: int, timeout_seconds: float) -> bool:
        """Return True as soon as the store is beyond `revision`, False when the time is up."""
        ...

    async def aclose(self) -> None:
        """Let go of files and connections."""
        ...


class SourceStatus(StrEnum):
    """What a source is doing."""

    CONNECTING = "connecting"
    READY = "ready"
    NEEDS_SIGN_IN = "needs_sign_in"
    FAILED = "failed"
    STOPPED = "stopped"


FAILURES: Final = frozenset({SourceStatus.FAILED, SourceStatus.NEEDS_SIGN_IN})
"""The states that somebody has to do something about."""


@dataclass(frozen=True, slots=True)
class SourceState:
    """What a source is doing, since when (UTC, ISO 8601), why, and when it is tried again."""

    status: SourceStatus
    since: str
    reason: str = ""
    retry_at: str | None = None
    answered: int = 0  # the number of the newest `AskAgain` that it has answered


class SourceStates(Protocol):
    """A board where each running crib pins the states of its sources, for other processes to read.

    Not part of the catalogue: no revision, no history.
    """

    async def report(self, crib: str, states: Mapping[str, SourceState]) -> None:
        """Replace what the crib called `crib` (one running process) says."""
        ...

    async def reported(self) -> Mapping[str, SourceState]:
        """The newest state of each source, from cribs that are still running."""
        ...

    async def last_failures(self) -> Mapping[str, SourceState]:
        """How sources failed last in cribs that run no more.

        None of a source that a running crib reports, or that was well when its crib ended.
        """
        ...

    async def withdraw(self, crib: str) -> None:
        """Remove what the crib said; it is ending."""
        ...


class CribStore(CatalogueStore, SourceStates, Protocol):
    """Both in one database, as a crib is composed."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a call has come: `progress` of `total` (None if not known), and words."""

    progress: float
    total: float | None = None
    message: str | None = None


class Notices(Protocol):
    """What the running sources tell on their own."""

    def hear(self, listener: Callable[[Notice], None]) -> Callable[[], None]:
        """Hand every notice to `listener`, which must not block or raise; returns what ends it."""
        ...


@dataclass(frozen=True, slots=True)
class CallLog:
    """Where the log messages of one call go.

    Attributes:
        report: takes `{level, data, logger?}`, as MCP writes it.
        level: the lowest level that is wanted; None leaves it to the source.
    """

    report: Callable[[JsonObject], Awaitable[None]]
    level: str | None = None


@dataclass(frozen=True, slots=True)
class CallContext:
    """What travels with a call to its source.

    Attributes:
        timeout_seconds: when the source has to give up; the inner limit ends first.
        caller: who asks.
        report_progress: where progress goes, or None if the caller did not ask for it.
        meta: `_meta` keys that may go to the source (trace context), already filtered.
        caller_headers: the HTTP headers of the caller's own request, lower case; a source may take
            only what its settings name, and nothing may write them down.
        interaction: how the caller can be asked.
        log: where the log messages of this call go, or None if the caller wants none.
        let_go: called when the source ends the stream of its answer and goes on; the caller can
            then be let go, too, and comes back for the rest. None if it would not.
    """

    timeout_seconds: float
    caller: Caller
    report_progress: Callable[[Progress], Awaitable[None]] | None = None
    meta: JsonObject = field(default_factory=dict)
    caller_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    interaction: Interaction = NOBODY
    log: CallLog | None = None
    let_go: Callable[[], Awaitable[None]] | None = None


class CallObserver(Protocol):
    """Whoever counts calls."""

    def call_ended(self, source: str | None, result: Result, seconds: float) -> None:
        """A call ended; `source` is None where no tool was found. Must not block or raise."""
        ...


class Provider(Protocol):
    """A running source, as the path of a call sees it."""

    async def call(self, upstream_name: str, arguments: JsonObject, context: CallContext) -> Result:
        """Call one tool. A tool's own failure is a Result; cancelling the caller cancels the call.

        A tool that wants an answer first gets it through `context.interaction`, or the Result asks.

        Raises:
            ToolError: `source_unavailable` (the call did not leave), `source_disconnected` (it did,
                no answer), `tool_timed_out`, `tool_crashed`, `needs_sign_in`, `needs_input`,
                `upstream_protocol`, `not_callable`.
        """
        ...

    def capabilities(self) -> JsonObject | None:
        """What the source offers besides tools, as MCP's server capabilities; None: not known yet.

        What a source said last holds while it is away.
        """
        ...

    async def request(self, method: str, params: JsonObject, context: CallContext) -> JsonObject:
        """The raw answer to an MCP request that calls no tool (resources, prompts, completions).

        `resources/subscribe` and `resources/unsubscribe` are counted by URI, hold over reconnects,
        and are put in the words of the source's protocol revision.

        Raises:
            ToolError: as `call`; `not_offered` if the source has no such thing. A refusal of the
                source's own has its `jsonrpc_code`, `jsonrpc_message` and `jsonrpc_data` in the
                details.
        """
        ...


class Providers(Protocol):
    """The running sources of this process."""

    def provider(self, source: str) -> Provider:
        """The running source of that name.

        Raises:
            ToolError: `source_unavailable` if it is not running here, with its state.
        """
        ...


class Encoder(Protocol):
    """Turns texts into vectors; synchronous work for the CPU, safe to call from several threads."""

    id: str
    """Names the model and its files; vectors of different ids are never compared."""
    dimensions: int
    unrelated: float
    """The usual similarity of texts that have nothing in common."""
    reads_unspaced: bool
    """Whether Chinese and other scripts without spaces mean anything to it."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of length 1, shape (texts, dimensions)."""
        ...


class VectorIndex(Protocol):
    """Nearest vectors by inner product. Used from one thread at a time."""

    def put(self, rows: NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
        """Add vectors under row numbers that are not in the index."""
        ...

    def remove(self, rows: NDArray[np.int64]) -> None:
        """Take rows out; those that are not there are passed over."""
        ...

    def nearest(
        self, vector: NDArray[np.float32], most: int, allowed: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Rows and similarities, best first; `allowed` (sorted rows) limits what is looked at."""
        ...

    def lowest(self, vector: NDArray[np.float32], allowed: NDArray[np.int64]) -> float:
        """The least similarity of the allowed rows, of a sample of them if they are many."""
        ...

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vector of each row, shape (rows, dimensions); null vectors for rows not there."""
        ...


class KeywordIndex(Protocol):
    """Rows by words. Used from one thread at a time."""

    def put(self, row: int, words: Sequence[str]) -> None:
        """Index words under a row number that was never used before."""
        ...

    def remove(self, row: int) -> None:
        """Forget a row."""
        ...

    def scores(self, words: Sequence[str], size: int) -> tuple[NDArray[np.float32], float]:
        """The score of each row below `size`, which no row reaches; 0 where no word occurs.

        And about what a row with every word would score, whether or not there is one.
        """
        ...

    def coverage(self, words: Sequence[str], size: int) -> NDArray[np.float32]:
        """How much of the words, by their rarity, each row below `size` has; 0..1."""
        ...


class VectorCache(Protocol):
    """Vectors that were made before, by content: a new version embeds only what changed."""

    def get(self, keys: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """The vectors that are known."""
        ...

    def put(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Remember vectors."""
        ...

    def prune(self, live: Callable[[], Collection[str]]) -> None:
        """Forget what is too much, but none that `live` names and few that are new."""
        ...


@dataclass(frozen=True, slots=True)
class StoredIndex:
    """What of a search index survived on disk.

    Which row is which tool at which contract, and the two legs.
    """

    rows: Mapping[ToolId, tuple[int, str]]
    """Row number and contract fingerprint of each tool."""
    next_row: int
    keywords: KeywordIndex
    vectors: VectorIndex
    encoded: frozenset[int]
    """Rows whose vectors are in the vector leg."""


class IndexStore(Protocol):
    """Where an index is kept between processes. A cache: anything unreadable counts as absent."""

    def load(self) -> StoredIndex | None:
        """The stored index, if it was made by the same encoder and the same rules."""
        ...

    def empty(self) -> StoredIndex:
        """A fresh index."""
        ...

    def saving(self, index: StoredIndex) -> Callable[[], None]:
        """Copy what is to be kept, and return what replaces the stored index by it, at once.

        Questions have to wait for the copying only.
        """
        ...
