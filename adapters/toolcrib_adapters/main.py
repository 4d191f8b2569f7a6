"""The composition root: settings in, a running crib out.

The only place that knows which technology fills which port.

Heavy parts (the MCP client, the web server, the index) are loaded by name when they are needed, so
that a command that only reads the catalogue starts at once.
"""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import anyio
from anyio import to_thread

from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.extras import load
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.records import SourceKind

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from pathlib import Path

    from toolcrib_adapters.call_path import CallPath
    from toolcrib_adapters.processes.household import Household
    from toolcrib_adapters.search.late_search import LateSearch
    from toolcrib_adapters.settings import CribSettings
    from toolcrib_adapters.sources.mcp_upstream.forwarding import HttpAccess
    from toolcrib_adapters.sources.source import Source
    from toolcrib_adapters.sources.supervisor import OpenSource, Supervisor
    from toolcrib_adapters.stores.sql import SqlStore
    from toolcrib_adapters.stores.sql.vacuum import Vacuum
    from toolcrib_registry.breaker import Breaker
    from toolcrib_registry.call_book import CallBook
    from toolcrib_registry.calls import Calls
    from toolcrib_registry.handles import Vault
    from toolcrib_registry.ledger import Ledger
    from toolcrib_registry.limits import Gates, Leases, LimitBoard
    from toolcrib_registry.ports import Clock, LimitStore, Sealer, SourceStates
    from toolcrib_registry.questions import ToolSearch
    from toolcrib_registry.records import SourceRecord
    from toolcrib_registry.search import Search
    from toolcrib_registry.snapshot import Snapshot

CONNECTING_AT_ONCE: Final = 8
"""How many upstreams connect at the same time: quick, yet bearable for two cold cores."""


@dataclass(frozen=True, slots=True)
class Crib:
    """A running crib.

    Attributes:
        home: its folder.
        catalogue: what it knows.
        calls: the one path of a call.
        search: finds tools.
        supervisor: runs the sources.
        states: the board of source states, of this and other processes.
        clock: its time.
        book: where its calls are written down.
        gates: keep limits.
        breaker: knows which tools are not called for a while.
    """

    home: Path
    catalogue: Catalogue
    calls: Calls
    search: ToolSearch
    supervisor: Supervisor
    states: SourceStates
    clock: Clock
    book: CallBook
    gates: Gates
    breaker: Breaker


@asynccontextmanager
async def open_store(settings: CribSettings) -> AsyncIterator[SqlStore]:
    """The store that the settings name, migrated, closed at the end.

    Raises:
        ToolError: `newer_store`, `store_busy`, `store_unavailable`.
    """
    store = await load("store.sql")(settings.database, settings.home)
    try:
        yield store
    finally:
        with anyio.CancelScope(shield=True):
            await store.aclose()


async def open_search(settings: CribSettings) -> tuple[Snapshot, Search]:
    """A search without any source, and what it asks: for questions from the command line.

    Of the snapshot only tools, names and groups may be looked at.

    Raises:
        ToolError: the store or the encoder cannot be used.
    """
    snapshot = await _heads(settings)
    search: Search = await load("search.engine")(settings.home, settings.encoder)
    await search.open(snapshot)
    return snapshot, search


async def _heads(settings: CribSettings) -> Snapshot:
    if settings.database is None:
        found: Snapshot | None = await to_thread.run_sync(load("store.heads"), settings.home)
        if found is not None:
            return found
    async with open_store(settings) as store:
        return await store.snapshot()


@asynccontextmanager
async def open_crib(
    settings: CribSettings,
    *,
    environment: Mapping[str, str] | None = None,
    wants: Callable[[SourceRecord], bool] = lambda _: True,
    head_start_seconds: float = 0.0,
) -> AsyncIterator[Crib]:
    """A running crib: sources connecting in the background, all ended when the block ends.

    Args:
        settings: where it lives.
        environment: what `${NAME}` in sources expands from (default: this process's).
        wants: which sources to run.
        head_start_seconds: for so long the first answers have the processor to themselves: sources
            are not connected and search is not loaded unless somebody asks.

    Raises:
        ToolError: the store cannot be used.
    """
    clock = SystemClock()
    async with open_store(settings) as store, _household(settings) as household:
        search: LateSearch = load("search.late")(settings.home, settings.encoder)
        crib_name = f"{os.getpid()}-{uuid4().hex[:8]}"
        # Parsing holds the interpreter: a hundred files at once kept the first answers waiting.
        read_gate = anyio.CapacityLimiter(1)
        access = load("source.mcp_access")(settings.upstream_addresses, household=household)
        openers = _openers(environment or os.environ, clock, read_gate, access)
        supervisor = load("supervisor")(
            openers,
            store,
            clock,
            crib=crib_name,
            wants=wants,
            habits=load("source.habits")(settings.home, clock),
        )
        catalogue = await Catalogue.open(store, (search, supervisor))
        if not head_start_seconds:
            await search.open(catalogue)
        parts = _call_parts(settings, store, catalogue, clock, crib_name)
        path = parts.path
        calls = load("calls")(catalogue, supervisor, path=path.path, checkers=path.checkers)
        async with parts.running(), anyio.create_task_group() as tasks:
            tasks.start_soon(_hold_until_open, read_gate, search)
            await tasks.start(supervisor.run, catalogue, head_start_seconds)
            tasks.start_soon(search.run, catalogue, head_start_seconds)
            tasks.start_soon(catalogue.follow)
            yield Crib(
                settings.home,
                catalogue,
                calls,
                search,
                supervisor,
                store,
                clock,
                parts.book,
                path.gates,
                path.breaker,
            )
            tasks.cancel_scope.cancel()


@dataclass(frozen=True, slots=True)
class _CallParts:
    """What the path of a call was composed of, and what runs beside it."""

    path: CallPath
    book: CallBook
    ledger: Ledger
    leases: Leases
    board: LimitBoard
    vacuum: Vacuum

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """What is written down beside the calls is; all of it when the block ends."""
        async with self.book.writing(), self.ledger.writing(), anyio.create_task_group() as tasks:
            for part in (self.leases, self.path.gates, self.board, self.vacuum):
                tasks.start_soon(part.run)
            yield
            tasks.cancel_scope.cancel()


def _call_parts(
    settings: CribSettings, store: SqlStore, catalogue: Catalogue, clock: Clock, crib_name: str
) -> _CallParts:
    database = store.database
    sealer: Sealer = load("store.sealer")(settings.keys_file, clock)
    captures = load("call_captures")(sealer, names=settings.secret_names)
    book: CallBook = load("call_book")(load("store.call_records")(database), clock, captures)
    vault: Vault = load("vault")(load("store.handles")(database), sealer, clock)
    ledger: Ledger = load("ledger")(load("store.ledger")(database), load("owners")(), sealer, clock)
    limits: LimitStore = load("store.limits")(database)
    leases: Leases = load("leases")(limits, crib_name)
    path: CallPath = load("call_path")(
        catalogue, clock, recorder=book, vault=vault, ledger=ledger, leases=leases
    )
    states = path.breaker.states
    board: LimitBoard = load("limit_board")(path.gates, limits, clock, crib_name, breakers=states)
    vacuum: Vacuum = load("store.vacuum")(database, clock, settings.keep, owner=crib_name)
    return _CallParts(path, book, ledger, leases, board, vacuum)


@asynccontextmanager
async def _household(settings: CribSettings) -> AsyncIterator[Household]:
    """The processes of this crib; what killed ones left behind is ended first."""
    household: Household = load("household")(settings.home, settings.most_processes)
    await to_thread.run_sync(household.sweep)
    try:
        yield household
    finally:
        household.close()


async def _hold_until_open(read_gate: anyio.CapacityLimiter, search: LateSearch) -> None:
    # Files that were read before can wait longer than the first question.
    async with read_gate:
        await search.wait_open()


def _openers(
    environment: Mapping[str, str],
    clock: Clock,
    read_gate: anyio.CapacityLimiter,
    access: HttpAccess,
) -> Mapping[SourceKind, OpenSource]:
    # Two: a process may have to wait for its place, and no server at an address waits with it.
    gates = [anyio.CapacityLimiter(CONNECTING_AT_ONCE) for _ in range(2)]

    def open_mcp(record: SourceRecord) -> Source:
        source: Source = load("source.mcp")(
            record,
            environment=environment,
            clock=clock,
            connect_gate=gates["command" in record.spec],
            access=access,
        )
        return source

    def open_python(record: SourceRecord) -> Source:
        source: Source = load("source.python")(
            record, environment=environment, clock=clock, household=access.household
        )
        return source

    def open_snapshot(record: SourceRecord) -> Source:
        source: Source = load("source.snapshot")(record, clock=clock, read_gate=read_gate)
        return source

    return {
        SourceKind.MCP: open_mcp,
        SourceKind.PYTHON: open_python,
        SourceKind.SNAPSHOT: open_snapshot,
    }
