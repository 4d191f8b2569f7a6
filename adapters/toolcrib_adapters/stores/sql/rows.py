"""Records as rows and rows as records."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from toolcrib_protocol.call_rules import CAREFUL_RULES, RuleScope, read_carefully
from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.overlay import Overlay
from toolcrib_protocol.version import Version
from toolcrib_registry.ports import SourceState, SourceStatus
from toolcrib_registry.records import (
    DeclarationRecord,
    EndpointMode,
    GroupRecord,
    OverlayRecord,
    ProfileRecord,
    QuarantineRecord,
    RulesRecord,
    SourceKind,
    SourceRecord,
    StatusRecord,
    VersionRecord,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Row

    from toolcrib_protocol.json_value import Json


_log = logging.getLogger(__name__)


def text(value: Json) -> str:
    """JSON as ASCII text, keys in their order."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def version_key(tool: ToolId, version: Version) -> dict[str, str | int]:
    """The key columns of one version."""
    return {
        "home_group": tool.group,
        "name": tool.name,
        "major": version.major,
        "minor": version.minor,
        "patch": version.patch,
    }


def source_row(record: SourceRecord) -> dict[str, str]:
    """A source as a row."""
    return {
        "name": record.name,
        "kind": record.kind.value,
        "spec": text(record.spec),
        "home_group": record.group,
    }


def source_record(row: Row[Any]) -> SourceRecord:
    """A row of `sources`."""
    return SourceRecord(row.name, SourceKind(row.kind), json.loads(row.spec), row.home_group)


def version_row(record: VersionRecord, revision: int) -> dict[str, str | int]:
    """A version, added in `revision`, as a row."""
    return {
        **version_key(record.tool, record.version),
        "fingerprint": record.fingerprint,
        "source": record.source,
        "upstream_name": record.upstream_name,
        "contract": record.written,
        "raw": record.raw,
        "repairs": text([*record.repairs]),
        "created_at": record.created_at,
        "under": record.under,
        "added_in": revision,
    }


def version_record(row: Row[Any]) -> VersionRecord:
    """A row of `versions`."""
    return VersionRecord(
        tool=ToolId(row.home_group, row.name),
        version=Version(row.major, row.minor, row.patch),
        written=row.contract,
        fingerprint=row.fingerprint,
        source=row.source,
        upstream_name=row.upstream_name,
        raw=row.raw,
        repairs=() if row.repairs == "[]" else tuple(json.loads(row.repairs)),
        created_at=row.created_at,
        under=row.under,
    )


def status_row(status: StatusRecord) -> dict[str, str]:
    """A status as columns."""
    return {"status": status.status, "reason": status.reason, "since": status.since}


def status_record(row: Row[Any]) -> StatusRecord:
    """A row of `statuses`."""
    return StatusRecord(row.status, row.reason, row.since)


def group_row(group: GroupRecord) -> dict[str, str]:
    """A group as a row, without its members."""
    facts: Json = {
        "title": group.title,
        "description": group.description,
        "refuses_unknown_arguments": group.refuses_unknown_arguments,
    }
    return {"name": group.name, "facts": text(facts)}


def group_record(row: Row[Any], members: Sequence[ToolId]) -> GroupRecord:
    """A row of `groups` with its members."""
    return GroupRecord(name=row.name, members=tuple(members), **json.loads(row.facts))


def profile_row(profile: ProfileRecord) -> dict[str, str]:
    """A profile as a row."""
    facts: Json = {
        "title": profile.title,
        "description": profile.description,
        "groups": None if profile.groups is None else [*profile.groups],
        "pins": [[pin.group, pin.name] for pin in profile.pins],
        "mode": profile.mode.value,
        "timeout_seconds": profile.timeout_seconds,
        "calls_at_once": profile.calls_at_once,
    }
    return {"name": profile.name, "facts": text(facts)}


def profile_record(row: Row[Any]) -> ProfileRecord:
    """A row of `profiles`."""
    facts = json.loads(row.facts)
    groups = facts.pop("groups")
    return ProfileRecord(
        name=row.name,
        groups=None if groups is None else tuple(groups),
        pins=tuple(ToolId(*pin) for pin in facts.pop("pins")),
        mode=EndpointMode(facts.pop("mode")),
        **facts,
    )


def overlay_row(record: OverlayRecord) -> dict[str, str]:
    """An overlay as a row."""
    tool = record.tool
    return {
        "home_group": tool.group,
        "name": tool.name,
        "facts": text(record.overlay.as_json()),
    }


def overlay_record(row: Row[Any]) -> OverlayRecord:
    """A row of `overlays`."""
    overlay = Overlay.model_validate(json.loads(row.facts))
    return OverlayRecord(ToolId(row.home_group, row.name), overlay)


def rules_row(record: RulesRecord) -> dict[str, str]:
    """The rules of a scope as a row."""
    return {"scope": str(record.scope), "facts": text(record.rules.as_json())}


def rule_scope(written: str) -> RuleScope | None:
    """The scope of a row; None, with a warning, if this release knows no such scope."""
    try:
        return RuleScope.parse(written)
    except ToolError as error:
        _log.warning("the rules of %r are passed over: %s", written, error.message)
        return None


def rules_record(row: Row[Any]) -> RulesRecord | None:
    """A row of `call_rules`; None if nobody can tell what it is for.

    One row that a newer release wrote, or a fault of the disk, must not stop a crib: what cannot
    be read is told by `doctor` and `rules list`, and set or dropped like any other rules.
    """
    scope = rule_scope(row.scope)
    if scope is None:
        return None
    try:
        rules, fault = read_carefully(json.loads(row.facts))
    except (ValueError, RecursionError) as error:
        rules, fault = CAREFUL_RULES, f"they are not JSON: {error}"
    if fault:
        _log.warning("the rules of %s cannot be read, careful ones hold: %s", scope, fault)
    return RulesRecord(scope, rules, fault)


def declaration_row(declaration: DeclarationRecord) -> dict[str, str]:
    """What a file declares as a row."""
    return {"name": declaration.name, "facts": text([[*part] for part in declaration.parts])}


def declaration_record(row: Row[Any]) -> DeclarationRecord:
    """A row of `declarations`."""
    parts = tuple((kind, key) for kind, key in json.loads(row.facts))
    return DeclarationRecord(row.name, parts)


def quarantine_row(number: int, entry: QuarantineRecord) -> dict[str, str | int]:
    """A quarantined entry as a row."""
    facts: Json = {
        "position": entry.position,
        "name": entry.name,
        "pointer": entry.pointer,
        "reason": entry.reason,
        "raw": entry.raw,
    }
    return {"source": entry.source, "number": number, "facts": text(facts)}


def quarantine_record(row: Row[Any]) -> QuarantineRecord:
    """A row of `quarantine`."""
    return QuarantineRecord(source=row.source, **json.loads(row.facts))


def state_facts(state: SourceState) -> str:
    """The state of a source as JSON text."""
    facts: Json = {
        "status": state.status.value,
        "since": state.since,
        "reason": state.reason,
        "retry_at": state.retry_at,
        "answered": state.answered,
    }
    return text(facts)


def source_state(facts: str) -> SourceState:
    """The state that `state_facts` wrote."""
    values = json.loads(facts)
    # A crib of an older release may stand beside us and does not tell what it answered.
    return SourceState(
        SourceStatus(values["status"]),
        values["since"],
        values["reason"],
        values["retry_at"],
        values.get("answered", 0),
    )
