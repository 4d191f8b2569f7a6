"""The table of defaults: complete, true, and the same in the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.registry.healed import infirmary
from toolcrib_protocol.tool import Contract
from toolcrib_registry.path_settings import (
    RULE_DEFAULTS,
    as_markdown,
    gates_of,
    settings_of,
    unlisted_rules,
)

PAGE = Path(__file__).parents[2] / "docs" / "reliable-calls.md"


@pytest.mark.promise("healing-defaults")
def test_the_documentation_has_the_defaults_that_the_stages_use() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = text.partition("<!-- defaults -->\n")[2].partition("<!-- end of defaults -->")[0]
    assert shown.strip() == as_markdown(), "put the table of path_settings.as_markdown() there"


@pytest.mark.promise("healing-defaults")
def test_every_rule_is_in_the_table() -> None:
    assert unlisted_rules() == frozenset()


@pytest.mark.promise("healing-defaults")
async def test_what_holds_for_a_tool_says_who_decided_it() -> None:
    limits = {"timeout_seconds": 5, "max_result_bytes": 600}
    tools = [
        Contract.model_validate({"group": "desk", "name": "plain"}),
        Contract.model_validate({"group": "desk", "name": "own", "limits": limits}),
    ]
    ward = await infirmary(desk=tools)
    await ward.rule("group:desk", timeout_seconds=7, retries=1)
    await ward.rule("tool:desk/own", retries=0)
    snapshot = ward.catalogue.snapshot
    found = {
        tool.id.name: {
            one.name: (one.value, one.origin)
            for one in settings_of(snapshot, tool.head)  # type: ignore[arg-type]
        }
        for tool in snapshot.tools.values()
    }
    plain, own = found["plain"], found["own"]
    (record,) = (tool.head for tool in snapshot.tools.values() if tool.id.name == "plain")
    assert record is not None
    assert gates_of(snapshot, record) == [
        {
            "scope": "source:desk", "max_concurrency": 8, "max_concurrency_from": "default",
            "calls_per_second": None, "calls_per_second_from": "",
        }
    ]  # fmt: skip
    assert [*plain] == [default.name for default in RULE_DEFAULTS]
    assert plain["timeout_seconds"] == (7, "group:desk")
    assert own["timeout_seconds"] == (5, "contract")
    assert (plain["retries"], own["retries"]) == ((1, "group:desk"), (0, "tool:desk/own"))
    assert plain["max_result_bytes"] == (25_000, "default")
    assert own["max_result_bytes"] == (600, "contract")
