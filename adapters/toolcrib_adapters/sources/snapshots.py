"""Snapshots: tools catalogued for reading, from a file or as they were published from outside.

For review, evaluation and air-gapped use. Nothing runs behind these tools, so calls are refused
with a sentence that says so. A file that changes on disk is listed anew. Used by the supervisor of
sources.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError, model_validator

from toolcrib_adapters.contract_documents import read_contract_document
from toolcrib_adapters.sources.file_stamps import stamp_of
from toolcrib_adapters.sources.relisting import Relisting
from toolcrib_adapters.sources.source import ToolsOnly
from toolcrib_protocol.contract_file import read_contracts
from toolcrib_protocol.errors import NOT_CALLABLE, ErrorKind, ToolError
from toolcrib_registry.listing import Listing
from toolcrib_registry.ports import SourceState, SourceStatus
from toolcrib_registry.records import QuarantineRecord

if TYPE_CHECKING:
    from typing import Self

    from toolcrib_adapters.sources.file_stamps import Stamp
    from toolcrib_adapters.sources.source import SourceHost
    from toolcrib_protocol.contract_file import ContractFile, Unreadable
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.result import Result
    from toolcrib_registry.ports import CallContext, Clock
    from toolcrib_registry.records import SourceRecord

LOOK_SECONDS: Final = 1.0
"""How often the file is looked at."""


class SnapshotSpec(BaseModel):
    """The settings of a snapshot: a file's path, or the entries themselves."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str | None = None
    entries: list[JsonValue] | None = None

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        if (self.path is None) == (self.entries is None):
            raise ValueError("give either a path or entries")
        return self


class SnapshotSource(ToolsOnly):
    """The source of one file, or of published entries."""

    def __init__(
        self,
        record: SourceRecord,
        *,
        clock: Clock,
        read_gate: anyio.CapacityLimiter | None = None,
    ) -> None:
        """The source of `record`; `read_gate` bounds how many files are read at once."""
        self._record = record
        self._clock = clock
        self._read_gate = read_gate
        self._relisting = Relisting()

    async def run(self, host: SourceHost) -> None:
        """List what is there, and again when the file changes, until cancelled."""
        try:
            spec = SnapshotSpec.model_validate(self._record.spec)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]["msg"]
            await self._report(host, SourceStatus.FAILED, f"the settings of the source: {fault}")
            self._relisting.end()
            await anyio.sleep_forever()
        await self._follow(host, spec)

    async def call(self, upstream_name: str, arguments: JsonObject, context: CallContext) -> Result:
        """Refuse the call.

        Raises:
            ToolError: `not_callable`.
        """
        del arguments, context
        path = self._record.spec.get("path")
        origin = f"from {path}" if path else "as it was published"
        raise ToolError(
            NOT_CALLABLE,
            f"{upstream_name!r} is catalogued {origin} for reading only; nothing was called. "
            "To call it, add the server or the Python file that runs it with `toolcrib add`",
        )

    async def look_again(self) -> None:
        """Read what is there anew; see `Source.look_again`."""
        await self._relisting.wait()

    async def _follow(self, host: SourceHost, spec: SnapshotSpec) -> None:
        seen: Stamp | str = "nothing yet"
        while True:
            # Taken before the file is read, so a change while it is read is seen the next time.
            stamp = None if spec.path is None else stamp_of(spec.path)
            if stamp != seen or self._relisting.is_asked:
                with self._relisting.round():
                    seen = stamp if await self._list(host, spec) else seen
            await self._relisting.pause(self._clock, LOOK_SECONDS)

    async def _list(self, host: SourceHost, spec: SnapshotSpec) -> bool:
        """Hand the host what is there; False if trying the same again may help."""
        try:
            # A large file takes long enough to read that nobody else should wait for it.
            found = await anyio.to_thread.run_sync(self._read, spec, limiter=self._read_gate)
            await host.listed(self._listing(found))
        except ToolError as error:
            await self._report(host, SourceStatus.FAILED, error.message)
            return error.kind is not ErrorKind.RETRYABLE
        await self._report(host, SourceStatus.READY)
        return True

    def _read(self, spec: SnapshotSpec) -> ContractFile:
        if spec.path is not None:
            return read_contract_document(Path(spec.path), self._record.group)
        return read_contracts(list(spec.entries or []), self._record.group)

    def _listing(self, found: ContractFile) -> Listing:
        quarantined = tuple(self._quarantine(entry) for entry in found.unreadable)
        return Listing(self._record.name, found.entries, quarantined=quarantined)

    def _quarantine(self, entry: Unreadable) -> QuarantineRecord:
        raw: JsonObject = entry.raw if isinstance(entry.raw, dict) else {"entry": entry.raw}
        return QuarantineRecord(
            self._record.name, entry.position, entry.name, entry.pointer, entry.reason, raw
        )

    async def _report(self, host: SourceHost, status: SourceStatus, reason: str = "") -> None:
        await host.report(SourceState(status, self._clock.now().isoformat(), reason))
