"""`toolcrib rules`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.adapters.cli.running import Shell


@pytest.mark.promise("cli-rules")
def test_rules_are_set_added_to_unset_shown_and_dropped(shell: Shell) -> None:
    made = shell.run("rules", "set", "group:mail", "max_concurrency=2", "retries=0", "--json")
    assert (made.code, made.document) == (
        0,
        {"rules": {"group:mail": {"max_concurrency": 2, "retries": 0}}},
    )
    settings = ("retries=", "equivalents=a/b, c/d", "when-full=reject", "capture=true")
    changed = shell.run("rules", "set", "group:mail", *settings, "--json").document
    facts = {
        "max_concurrency": 2,
        "when_full": "reject",
        "capture": True,
        "equivalents": ["a/b", "c/d"],
    }
    assert changed == {"rules": {"group:mail": facts}}
    shell.run("rules", "set", "tool:mail/send", "timeout_seconds=2.5")
    listed = shell.run("rules", "list", "--json").document
    assert listed["rules"]["group:mail"] == facts
    assert shell.run("rules", "list", "tool:mail/send", "--json").document == {
        "rules": {"tool:mail/send": {"timeout_seconds": 2.5}}
    }
    assert "equivalents = " in shell.run("rules", "list").out
    assert shell.run("rules", "drop", "group:mail").code == 0
    assert "nothing is set" in shell.run("rules", "set", "tool:mail/send", "timeout_seconds=").out
    assert "no rules are set" in shell.run("rules", "list").out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("set", "mail", "retries=1"), "tool:GROUP/NAME"),
        (("set", "group:mail", "retries"), "KEY=VALUE"),
        (("set", "group:mail", "retry=1"), "retries"),
        (("set", "group:mail", "retries=many"), "retries"),
        (("set", "group:mail", "repair=maybe"), "repair"),
        (("drop", "group:mail"), "nothing is set"),
    ],
)
def test_a_rule_that_cannot_be_is_refused_with_what_would_be_right(
    shell: Shell, arguments: tuple[str, ...], told: str
) -> None:
    refused = shell.run("rules", *arguments)
    assert refused.code == 1
    assert told in refused.err
    assert "Traceback" not in refused.err
