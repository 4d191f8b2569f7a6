"""The source of a Python target: `@tool` functions, run in supervised worker processes.

The crib never imports the target. A change of its files on disk is listed anew without a restart; a
target that cannot be loaded is a state with file, line and message. Used by the supervisor of
sources.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import anyio.abc
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from toolcrib_adapters.processes.household import Household
from toolcrib_adapters.sources.file_stamps import stamps_of
from toolcrib_adapters.sources.python_functions.pool import Pool, PoolLimits
from toolcrib_adapters.sources.python_functions.target import is_file_target
from toolcrib_adapters.sources.python_functions.worker_process import WorkerSettings
from toolcrib_adapters.sources.relisting import Relisting
from toolcrib_adapters.sources.source import ToolsOnly
from toolcrib_protocol.errors import (
    SOURCE_UNAVAILABLE,
    UNKNOWN_TOOL,
    ErrorKind,
    ToolError,
)
from toolcrib_protocol.tool import Contract
from toolcrib_registry.listing import Listing
from toolcrib_registry.ports import SourceState, SourceStatus
from toolcrib_registry.records import QuarantineRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolcrib_adapters.sources.file_stamps import Stamp
    from toolcrib_adapters.sources.source import SourceHost
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.result import Result
    from toolcrib_registry.ports import CallContext, Clock
    from toolcrib_registry.records import SourceRecord

LOOK_SECONDS: Final = 1.0
"""How often the files of the target are looked at."""
RETRY_SECONDS: Final = 60.0
"""When a target that failed is tried again without a change of its files (a package may come)."""
# What programs need to find their way; nothing that could be a secret.
_KEPT_VARIABLES: Final = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "SYSTEMROOT"),
)


class PythonSpec(BaseModel):
    """The settings of a Python source."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: str = Field(min_length=1)
    """A file's absolute path, or the dotted name of an installed module."""
    timeout_seconds: float | None = Field(default=None, gt=0)
    """An upper bound for each call."""
    python: str | None = None
    """The interpreter to run the functions with; toolcrib has to be installed there."""
    inherit_env: tuple[str, ...] = ()
    """Names of environment variables that the functions may see, besides the harmless ones."""
    memory_bytes: int = Field(default=2 * 1024**3, ge=64 * 1024**2)
    """What one process may allocate."""
    processes: int = Field(default=4, ge=1, le=64)
    """How many sync calls run at the same time."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A state of the target that answers calls."""

    pool: Pool
    is_async: Mapping[str, bool]


@dataclass(slots=True)
class _Watch:
    """What would make the target worth loading again."""

    stamps: dict[str, Stamp] = field(default_factory=dict)
    retry_at: float | None = None

    def is_due(self, now: float) -> bool:
        """Whether a file changed, or the time for another try has come."""
        is_late = self.retry_at is not None and now >= self.retry_at
        return is_late or stamps_of(self.stamps) != self.stamps


class PythonFunctions(ToolsOnly):
    """The source of one Python target."""

    def __init__(
        self,
        record: SourceRecord,
        *,
        environment: Mapping[str, str],
        clock: Clock,
        household: Household | None = None,
    ) -> None:
        """A source that has not started anything.

        Args:
            record: name, group and settings.
            environment: where the few variables that the functions may see come from.
            clock: time.
            household: where its processes are at home.
        """
        self._household = household or Household()
        self._record = record
        self._environment = environment
        self._clock = clock
        self._loaded: _Loaded | None = None
        self._problem = ""
        self._settled = anyio.Event()
        self._relisting = Relisting()
        self._watch = _Watch()

    async def run(self, host: SourceHost) -> None:
        """Load, list, serve calls and load again on a change, until cancelled."""
        try:
            spec = PythonSpec.model_validate(self._record.spec)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            where = "/".join(str(part) for part in fault["loc"])
            await self._fail(
                host, f"the settings of the source: {where}: {fault['msg']}", retry=False
            )
            self._relisting.end()
            await anyio.sleep_forever()
        with self._household.folder(self._record.name) as folder:
            settings = self._settings(spec, folder)
            limits = PoolLimits(spec.processes, spec.memory_bytes // 2)
            await self._report(host, SourceStatus.CONNECTING)
            async with anyio.create_task_group() as tasks:
                while True:
                    with self._relisting.round():
                        await self._load(host, Pool(settings, tasks, limits), spec.target)
                    await self._until_changed()

    async def call(self, upstream_name: str, arguments: JsonObject, context: CallContext) -> Result:
        """Call one function.

        Raises:
            ToolError: `source_unavailable`, `at_capacity`, `tool_timed_out`, `tool_crashed`,
                `unknown_tool`.
        """
        patience = context.patience_of_source()
        with patience.limit():
            await self._settled.wait()
        if self._loaded is None:
            raise self._unavailable()
        is_async = self._loaded.is_async.get(upstream_name)
        if is_async is None:
            raise ToolError(
                UNKNOWN_TOOL, f"{self._record.name!r} does not offer {upstream_name!r} any more"
            )
        pool = self._loaded.pool
        run = pool.call_async if is_async else pool.call_sync
        return await run(upstream_name, arguments, patience.left)

    async def look_again(self) -> None:
        """Load the target anew; see `Source.look_again`."""
        await self._relisting.wait()

    def _unavailable(self) -> ToolError:
        problem = self._problem or "its functions are still being loaded"
        return ToolError(
            SOURCE_UNAVAILABLE,
            f"the source {self._record.name!r} cannot be called: {problem}",
            ErrorKind.RETRYABLE,
        )

    def _settings(self, spec: PythonSpec, folder: Path) -> WorkerSettings:
        names = {*_KEPT_VARIABLES, *spec.inherit_env}
        environment = {name: self._environment[name] for name in names if name in self._environment}
        places = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))
        return WorkerSettings(
            source=self._record.name,
            target=spec.target,
            group=self._record.group,
            folder=folder,
            environment={**environment, **places},
            python=spec.python or sys.executable,
            memory_bytes=spec.memory_bytes,
            household=self._household,
        )

    async def _load(self, host: SourceHost, pool: Pool, target: str) -> None:
        """Load the target into a new pool, which takes the place of the old one."""
        before = stamps_of([*self._watch.stamps, *_candidates(target)])
        worker = await pool.first()
        old, self._loaded = self._loaded, None
        if old is not None:
            old.pool.retire()
        if worker.failure is not None:
            self._watch.stamps = before
            pool.retire()
            await self._fail(host, worker.failure)
            return
        files = worker.report.get("files")
        names = [str(file) for file in files] if isinstance(files, list) else []
        self._watch.stamps = stamps_of(names, before)
        try:
            listing, lanes = _listing(self._record.name, worker.report)
            await host.listed(listing)
        except (ToolError, ValidationError) as error:
            pool.retire()
            await self._fail(host, str(error))
            return
        self._loaded, self._problem, self._watch.retry_at = _Loaded(pool, lanes), "", None
        self._settled.set()
        await self._report(host, SourceStatus.READY)

    async def _until_changed(self) -> None:
        while not (self._relisting.is_asked or self._watch.is_due(self._clock.monotonic())):
            await self._relisting.pause(self._clock, LOOK_SECONDS)
            if self._loaded is not None:
                self._loaded.pool.tidy()

    async def _fail(self, host: SourceHost, reason: str, *, retry: bool = True) -> None:
        self._problem = reason
        self._settled.set()
        if retry:
            self._watch.retry_at = self._clock.monotonic() + RETRY_SECONDS
        await self._report(host, SourceStatus.FAILED, reason)

    async def _report(self, host: SourceHost, status: SourceStatus, reason: str = "") -> None:
        await host.report(SourceState(status, self._clock.now().isoformat(), reason))


def _candidates(target: str) -> list[str]:
    """Files that may be part of a target that is not loaded yet."""
    if not is_file_target(target):
        return []
    path = Path(target)
    return [target, *(str(file) for file in sorted(path.parent.glob("*.py"))[:_MOST_CANDIDATES])]


_MOST_CANDIDATES: Final = 500


def _listing(source: str, report: JsonObject) -> tuple[Listing, dict[str, bool]]:
    """What a worker's report offers, and which tools are async."""
    tools, refused = report.get("tools"), report.get("refused")
    entries: list[Contract] = []
    lanes: dict[str, bool] = {}
    for entry in tools if isinstance(tools, list) else []:
        if isinstance(entry, dict):
            contract = Contract.model_validate(entry.get("contract"))
            entries.append(contract)
            lanes.setdefault(contract.name, entry.get("is_async") is True)
    pairs = [
        pair for pair in (refused if isinstance(refused, list) else []) if isinstance(pair, list)
    ]
    quarantined = tuple(
        QuarantineRecord(source, len(entries) + position, str(name), "", str(reason))
        for position, (name, reason) in enumerate(pairs)
    )
    description = str(report.get("description") or "")
    return Listing(source, tuple(entries), description=description, quarantined=quarantined), lanes
