"""What a source offers, entry by entry, as records with the operator's overlays on them.

An entry becomes an offer or is quarantined; whether the catalogue takes an offer is decided in
`acceptance`. An overlay that does not fit is not laid, and the offer says so: it must be held, or
an agent could choose what the operator has set.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.foreign_tool import Quarantined, judge
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.overlay import lay
from toolcrib_protocol.tool import Behaviour, Contract, Icon
from toolcrib_registry.records import QuarantineRecord, VersionRecord

if TYPE_CHECKING:
    from toolcrib_protocol.foreign_tool import Adopted
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.version import Version
    from toolcrib_registry.records import SourceRecord
    from toolcrib_registry.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Offer:
    """A contract that a source offers.

    Attributes:
        record: with the overlay on it, if there is one and it fits.
        declared: the version that the author declares; None leaves the counting to the crib.
        misfit: why the overlay does not fit, or empty.
    """

    record: VersionRecord
    declared: Version | None = None
    misfit: str = ""


def _storable(entry: Json) -> JsonObject:
    """A refused entry as an object; what JSON cannot write is there as text.

    A store could not keep it otherwise, and its siblings would be lost with it.
    """
    raw: JsonObject = entry if isinstance(entry, dict) else {"entry": entry}
    try:
        json.dumps(raw, allow_nan=False)
    except ValueError:
        kept: JsonObject = json.loads(json.dumps(raw), parse_constant=str)
        return kept
    except RecursionError:
        return {"entry": "nested too deeply to be kept"}
    return raw


class Offers:
    """Reads the entries of one source."""

    def __init__(self, snapshot: Snapshot, source: SourceRecord, now: str) -> None:
        self._snapshot = snapshot
        self._source = source
        self._now = now

    def read(self, position: int, entry: Json | Contract) -> Offer | QuarantineRecord:
        """What the entry at `position` offers."""
        if isinstance(entry, Contract):
            return self._with_overlay(self._record(entry, entry.name), entry)
        known = self._known(entry)
        if known is not None:
            # The usual case at every start: nothing to parse, nothing to lay.
            is_plain = not known.under and known.tool not in self._snapshot.overlays
            return Offer(known) if is_plain else self.again(known)
        verdict = judge(entry)
        if isinstance(verdict, Quarantined):
            return QuarantineRecord(
                self._source.name,
                position,
                verdict.name,
                verdict.pointer,
                verdict.reason,
                _storable(verdict.raw),
            )
        repairs = tuple(str(repair) for repair in verdict.repairs)
        contract = _foreign_contract(self._source.group, verdict)
        record = self._record(contract, verdict.name, verdict.raw, repairs)
        return self._with_overlay(record, contract)

    def again(self, record: VersionRecord) -> Offer:
        """The same offer that became `record`, with the overlay that the tool has now."""
        plain = replace(record.without_overlay(), created_at=self._now)
        return self._with_overlay(plain, plain.offered)

    def _with_overlay(self, record: VersionRecord, offered: Contract) -> Offer:
        laid = self._snapshot.overlays.get(record.tool)
        declared = offered.version if offered.declares_version else None
        if laid is None:
            return Offer(record, declared)
        try:
            return Offer(record.with_overlay(lay(offered, laid.overlay)), declared)
        except ToolError as error:
            return Offer(record, declared, error.message)

    def _known(self, entry: Json) -> VersionRecord | None:
        """A version that exactly this entry became before, so that it is not judged again.

        Judging compiles schemas, which takes milliseconds, and at every start every source lists
        mostly what it listed before. A release that judges differently empties the stored entries
        when it migrates.
        """
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str):
            return None
        tool = self._snapshot.tools.get(ToolId(self._source.group, name))
        mine = [r for r in tool.versions.values() if r.source == self._source.name] if tool else []
        made = (record for record in mine if record.came_from(entry))
        return max(made, key=lambda record: record.version, default=None)

    def _record(
        self,
        contract: Contract,
        upstream_name: str,
        raw: JsonObject | None = None,
        repairs: tuple[str, ...] = (),
    ) -> VersionRecord:
        offer = VersionRecord.of(contract, self._source.name, upstream_name, raw)
        return replace(offer, repairs=repairs, created_at=self._now)


def _foreign_contract(group: str, tool: Adopted) -> Contract:
    """The contract of a tool that declares no more than MCP lets it; the rest stays unknown."""
    return Contract(
        group=group,
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        behaviour=Behaviour(
            read_only=tool.read_only,
            destructive=tool.destructive,
            idempotent=tool.idempotent,
            open_world=tool.open_world,
        ),
        icons=tuple(Icon.model_validate(icon) for icon in tool.icons),
        meta=tool.meta,
    )
