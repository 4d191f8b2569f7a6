"""What the operator may set for calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolcrib_protocol.call_rules import (
    CAREFUL_RULES,
    NO_RULES,
    CallRules,
    RuleScope,
    ScopeKind,
    merged,
    read_carefully,
)
from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject


def test_the_narrower_rules_win_field_by_field() -> None:
    tool = CallRules(retries=0)
    group = CallRules(retries=5, max_concurrency=2, burst=None)
    source = CallRules(max_concurrency=9, burst=3)
    assert merged([tool, group, source]).as_json() == {
        "retries": 0,
        "max_concurrency": 2,
        "burst": 3,
    }
    assert merged([]) == NO_RULES


def test_rules_come_back_as_they_were_written() -> None:
    facts: JsonObject = {
        "repair": "off",
        "equivalents": ["a/b"],
        "results_may_go_to": ["*", "mail"],
    }
    assert CallRules.read(facts, "group:x").as_json() == facts


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"retries": -1}, "retries"),
        ({"retry": 1}, "retry"),
        ({"equivalents": ["a"]}, "equivalents.0"),
        ({"equivalents": ["a/b@^1"]}, "without a version"),
        ({"results_may_go_to": ["not a source"]}, "results_may_go_to.0"),
        ({"when_full": "explode"}, "when_full"),
    ],
)
def test_a_rule_that_cannot_be_is_refused_by_name(facts: JsonObject, told: str) -> None:
    with pytest.raises(ToolError, match=told) as refusal:
        CallRules.read(facts, "group:x")
    assert refusal.value.code == INVALID_SETTINGS
    assert "group:x" in refusal.value.message


def test_a_scope_is_written_as_its_kind_and_its_name() -> None:
    assert RuleScope.parse("tool:mail/send it") == RuleScope(ScopeKind.TOOL, "mail/send it")
    assert str(RuleScope.parse("source:mail")) == "source:mail"


@pytest.mark.parametrize(
    "text", ["", "mail", "group:", "user:x", "group:not a name", "tool:mail", "tool:mail/send@^1"]
)
def test_what_names_no_scope_is_refused(text: str) -> None:
    with pytest.raises(ToolError) as refusal:
        RuleScope.parse(text)
    assert refusal.value.code == INVALID_SETTINGS


def test_rules_that_cannot_be_read_are_careful_ones_and_the_others_stay() -> None:
    assert read_carefully({"retries": 3}) == (CallRules(retries=3), "")
    assert read_carefully([]) == (CAREFUL_RULES, "they are no JSON object")
    rules, fault = read_carefully({"retries": "many", "burst": 0, "repair": "strict", "new": {}})
    assert rules.as_json() == {"retries": 0, "repair": "strict"}
    assert {part.partition(":")[0] for part in fault.split("; ")} == {"retries", "burst", "new"}
