"""Setting, dropping and looking up rules for calls: decisions on a snapshot.

Pure. What each rule means is decided by the stage that reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_protocol.call_rules import NO_RULES, CallRules, RuleScope, ScopeKind, merged
from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError
from toolcrib_registry.changes import DropRules, PutRules
from toolcrib_registry.records import RulesRecord

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.names import ToolId
    from toolcrib_registry.changes import Change
    from toolcrib_registry.records import VersionRecord
    from toolcrib_registry.snapshot import Snapshot


def scopes_of(record: VersionRecord) -> tuple[RuleScope, RuleScope, RuleScope]:
    """The scopes whose rules hold for a tool, the narrowest first."""
    return _scopes(record.tool, record.source)


def _scopes(tool: ToolId, source: str) -> tuple[RuleScope, RuleScope, RuleScope]:
    return (
        RuleScope(ScopeKind.TOOL, str(tool)),
        RuleScope(ScopeKind.GROUP, tool.group),
        RuleScope(ScopeKind.SOURCE, source),
    )


def rules_for(snapshot: Snapshot, record: VersionRecord) -> CallRules:
    """What holds for the calls of a tool: its own rules, its home group's, its source's."""
    return rules_of(snapshot, record.tool, record.source)


def rules_of(snapshot: Snapshot, tool: ToolId, source: str) -> CallRules:
    """The same of a tool that may be gone by now."""
    if not snapshot.rules:
        return NO_RULES
    found = (snapshot.rules.get(scope) for scope in _scopes(tool, source))
    return merged(each.rules for each in found if each is not None)


def set_rules(snapshot: Snapshot, scope: RuleScope, values: JsonObject) -> list[Change]:
    """What has to change so that `values` hold for a scope; null unsets, the others stay.

    What could not be read is written anew, with the careful values that stood in for it.

    Raises:
        ToolError: `invalid_settings`.
    """
    known = snapshot.rules.get(scope)
    before = NO_RULES if known is None else known.rules
    facts = {**before.as_json(), **values}
    wanted: JsonObject = {name: value for name, value in facts.items() if value is not None}
    after = CallRules.read(wanted, str(scope))
    if scope.kind is ScopeKind.TOOL and scope.name in (after.equivalents or ()):
        text = f"{scope.name!r} cannot be an equivalent of itself; `equivalents` names other tools"
        raise ToolError(INVALID_SETTINGS, text)
    if after == NO_RULES:
        return [] if known is None else [DropRules(scope)]
    record = RulesRecord(scope, after)
    return [] if record == known else [PutRules(record)]


def drop_rules(snapshot: Snapshot, scope: RuleScope) -> list[Change]:
    """What has to change so that nothing is set for a scope.

    Raises:
        ToolError: `invalid_settings` if nothing is.
    """
    if scope not in snapshot.rules:
        text = f"nothing is set for {str(scope)!r}; `toolcrib rules list` shows what is"
        raise ToolError(INVALID_SETTINGS, text)
    return [DropRules(scope)]
