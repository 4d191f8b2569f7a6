"""`toolcrib rules`."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from tests.adapters.cli.test_doctor import findings

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


CAREFUL = {
    "repair": "off",
    "retries": 0,
    "cache_seconds": 0.0,
    "cache_shared": False,
    "capture": False,
    "equivalents": [],
    "results_may_go_to": [],
}


def keep(shell: Shell, scope: str, facts: str | bytes) -> None:
    """What a fault of the disk or a newer release left in the row of a scope."""
    with sqlite3.connect(shell.home / "crib.db") as database:
        database.execute("delete from call_rules where scope = ?", (scope,))
        database.execute("insert into call_rules (scope, facts) values (?, ?)", (scope, facts))
    database.close()


@pytest.mark.promise("cli-rules-unreadable")
@pytest.mark.parametrize(
    ("facts", "held", "told"),
    [
        ("{not json", CAREFUL, "not JSON"),
        (b"\xff\xfe\x00", CAREFUL, "not JSON"),
        ("[" * 200_000, CAREFUL, "not JSON"),
        ("[1]", CAREFUL, "no JSON object"),
        ('{"retries": "many", "max_concurrency": 2}', {"max_concurrency": 2, "retries": 0}, "retr"),
        ('{"of_tomorrow": 1, "retries": 3}', {"retries": 3}, "of_tomorrow"),
        ('{"equivalents": ["a/b", 5]}', {"equivalents": []}, "equivalents.1"),
    ],
    ids=["text", "bytes", "deep", "list", "type", "newer", "item"],
)
def test_rules_that_cannot_be_read_stop_nothing_and_careful_ones_hold_until_they_are_replaced(
    shell: Shell, mail: str, facts: str | bytes, held: dict[str, object], told: str
) -> None:
    shell.run("add", "mail", "--snapshot", mail)
    keep(shell, "group:mail", facts)
    listed = shell.run("rules", "list", "--json")
    assert (listed.code, listed.document["rules"]) == (0, {"group:mail": held})
    assert told in listed.document["unreadable"]["group:mail"]
    assert "cannot be read" in shell.run("rules", "list").out
    assert shell.run("tools").code == 0
    found = findings(shell)["rules"]
    assert (found["severity"], found["value"]) == ("problem", "group:mail")
    assert told in found["text"]
    assert shell.run("capture", "stop").code == 0
    assert "unreadable" in shell.run("rules", "list", "--json").document
    replaced = shell.run("rules", "set", "group:mail", "retries=0", "--json")
    assert (replaced.code, replaced.document) == (
        0,
        {"rules": {"group:mail": held | {"retries": 0}}},
    )
    assert shell.run("rules", "list", "--json").document == replaced.document
    assert "rules" not in findings(shell)
    keep(shell, "group:mail", facts)
    assert shell.run("rules", "drop", "group:mail", "--json").document == {
        "rules": {"group:mail": {}}
    }
    assert shell.run("rules", "list", "--json").document == {"rules": {}}


@pytest.mark.promise("cli-rules-unreadable")
def test_rules_for_something_that_this_release_does_not_know_are_passed_over(
    shell: Shell, mail: str
) -> None:
    shell.run("add", "mail", "--snapshot", mail)
    shell.run("rules", "set", "group:mail", "retries=1")
    keep(shell, "planet:mars", "{}")
    listed = shell.run("rules", "list", "--json")
    assert (listed.code, listed.document) == (0, {"rules": {"group:mail": {"retries": 1}}})
