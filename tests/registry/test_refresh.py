"""Sources are asked for their lists anew, and what changed is told."""

from __future__ import annotations

import pytest

from tests.registry.cribs import LATER, listed, memory_catalogue, raw_tool
from toolcrib_registry.ports import SourceState, SourceStatus
from toolcrib_registry.refresh import Relisted, ask_again, unanswered


@pytest.mark.promise("refresh-now")
async def test_each_wish_has_a_number_and_is_open_until_the_running_source_has_answered_it() -> (
    None
):
    catalogue = await memory_catalogue()
    await listed(catalogue, "mail", raw_tool("send"))
    await catalogue.change(lambda snapshot: ask_again(snapshot, ["mail"]))
    asked = await catalogue.change(lambda snapshot: ask_again(snapshot, ["mail"]))

    def state(answered: int) -> SourceState:
        return SourceState(SourceStatus.READY, LATER, answered=answered)

    assert asked.asked == {"mail": 2}
    assert unanswered(asked, {"mail": state(1)}, ["mail"]) == {"mail"}
    assert unanswered(asked, {"mail": state(2)}, ["mail"]) == set()
    assert unanswered(asked, {}, ["mail"]) == set()


async def test_what_a_new_list_changed_is_told_tool_by_tool() -> None:
    catalogue = await memory_catalogue()
    before = await listed(catalogue, "mail", raw_tool("send"), raw_tool("read"), raw_tool("drop"))
    await listed(catalogue, "other", raw_tool("mine"))
    changed = {**raw_tool("read"), "description": "Read it."}
    after = await listed(catalogue, "mail", raw_tool("send"), changed, raw_tool("new"), now=LATER)
    relisted = Relisted.between(before, after, "mail")
    assert relisted == Relisted(
        ("mail/new@1.0.0",), (("mail/read@1.0.1", "1.0.0"),), ("mail/drop",)
    )
    assert relisted.as_json()["changed"] == [{"tool": "mail/read@1.0.1", "before": "1.0.0"}]
