"""Setting, dropping and looking up rules for calls."""

from __future__ import annotations

import pytest

from tests.registry.samples import version
from toolcrib_protocol.call_rules import NO_RULES, CallRules, RuleScope
from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError
from toolcrib_registry.call_rules import drop_rules, rules_for, set_rules
from toolcrib_registry.changes import DropRules, PutRules
from toolcrib_registry.records import RulesRecord
from toolcrib_registry.snapshot import Snapshot

GROUP = RuleScope.parse("group:mail")


def with_rules(snapshot: Snapshot, scope: str, **values: object) -> Snapshot:
    changes = set_rules(snapshot, RuleScope.parse(scope), values)  # type: ignore[arg-type]
    return snapshot.with_changes(changes, snapshot.revision + 1)


def test_a_tool_has_the_rules_of_itself_its_group_and_its_source() -> None:
    record = version()
    snapshot = Snapshot()
    assert rules_for(snapshot, record) == NO_RULES
    snapshot = with_rules(snapshot, f"source:{record.source}", retries=4, burst=4, capture=True)
    snapshot = with_rules(snapshot, f"group:{record.tool.group}", retries=3, burst=3)
    snapshot = with_rules(snapshot, f"tool:{record.tool}", retries=2)
    snapshot = with_rules(snapshot, "group:other", retries=9)
    assert rules_for(snapshot, record).as_json() == {"retries": 2, "burst": 3, "capture": True}


def test_setting_adds_to_what_is_set_and_null_unsets() -> None:
    snapshot = with_rules(Snapshot(), "group:mail", retries=1, burst=2)
    snapshot = with_rules(snapshot, "group:mail", retries=None, capture=False)
    assert snapshot.rules[GROUP].rules == CallRules(burst=2, capture=False)


def test_what_is_set_already_changes_nothing_and_nothing_set_is_no_rules() -> None:
    snapshot = with_rules(Snapshot(), "group:mail", retries=1)
    assert set_rules(snapshot, GROUP, {"retries": 1}) == []
    assert set_rules(snapshot, GROUP, {"retries": None}) == [DropRules(GROUP)]
    assert set_rules(Snapshot(), GROUP, {"retries": None}) == []


def test_dropping_takes_all_rules_and_refuses_where_there_are_none() -> None:
    snapshot = with_rules(Snapshot(), "group:mail", retries=1)
    after = snapshot.with_changes(drop_rules(snapshot, GROUP), 2)
    assert after.rules == {}
    with pytest.raises(ToolError, match="group:mail") as refusal:
        drop_rules(after, GROUP)
    assert refusal.value.code == INVALID_SETTINGS


def test_what_cannot_be_read_is_written_anew_also_where_the_same_holds() -> None:
    record = RulesRecord(GROUP, CallRules(retries=0), unreadable="damaged")
    snapshot = Snapshot().with_changes([PutRules(record)], 1)
    assert set_rules(snapshot, GROUP, {"retries": 0}) == [
        PutRules(RulesRecord(GROUP, CallRules(retries=0)))
    ]
    assert set_rules(snapshot, GROUP, {"retries": None}) == [DropRules(GROUP)]
    assert drop_rules(snapshot, GROUP) == [DropRules(GROUP)]


def test_a_tool_is_no_equivalent_of_itself() -> None:
    snapshot = with_rules(Snapshot(), "tool:mail/send", equivalents=["post/send"])
    with pytest.raises(ToolError, match="'mail/send' cannot be an equivalent of itself") as refusal:
        with_rules(snapshot, "tool:mail/send", equivalents=["post/send", "mail/send"])
    assert refusal.value.code == INVALID_SETTINGS
    # For a whole group it is meant for its other tools.
    with_rules(snapshot, "group:mail", equivalents=["mail/send"])
