"""Overlays in the catalogue: they survive the source, make versions, and hold what does not fit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.registry.cribs import LATER, NOW, desk, listed, raw_tool
from toolcrib_protocol.errors import (
    INVALID_ARGUMENTS,
    INVALID_SETTINGS,
    UNKNOWN_TOOL,
    ToolError,
)
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.overlay import Overlay
from toolcrib_protocol.tool import Contract
from toolcrib_protocol.version import Version
from toolcrib_registry.call import Call
from toolcrib_registry.changes import PutGroup, SetStatus
from toolcrib_registry.overlaying import drop_overlay, put_overlay
from toolcrib_registry.records import GroupRecord, StatusRecord
from toolcrib_registry.retirement import MISFIT, NOT_LISTED, REPLACED, remove_source
from toolcrib_registry.snapshot import Snapshot

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.records import ToolRecord, VersionRecord

TEXT: JsonObject = {"type": "string"}
SAY = ToolId("desk", "say")


def entry(*required: str, **properties: JsonObject) -> JsonObject:
    schema: JsonObject = {
        "type": "object",
        "properties": dict(properties) or {"text": TEXT, "tenant": TEXT},
        "required": list(required),
        "additionalProperties": False,
    }
    return {"name": "say", "description": "Say it.", "inputSchema": schema}


async def overlaid(catalogue: Catalogue, overlay: Overlay, tool: ToolId = SAY) -> ToolRecord:
    after = await catalogue.change(lambda snapshot: put_overlay(snapshot, tool, overlay, NOW))
    return after.tools[tool]


async def cleared(catalogue: Catalogue, tool: ToolId = SAY) -> ToolRecord:
    after = await catalogue.change(lambda snapshot: drop_overlay(snapshot, tool, LATER))
    return after.tools[tool]


def head(tool: ToolRecord) -> VersionRecord:
    assert tool.head is not None
    return tool.head


def statuses(tool: ToolRecord) -> dict[str, str]:
    return {str(version): status.status for version, status in sorted(tool.statuses.items())}


@pytest.mark.promise("overlay-makes-versions")
@pytest.mark.parametrize(
    ("overlay", "number"),
    [
        (Overlay(description="Say it aloud."), "1.0.1"),
        (Overlay(title="Say", examples=({"request": "hi"},)), "1.0.1"),
        (Overlay(when_to_use="To be heard."), "1.1.0"),
        (Overlay(read_only=True), "1.1.0"),
        (Overlay(timeout_seconds=3), "1.1.0"),
        (Overlay(presets={"tenant": "a"}), "2.0.0"),
        (Overlay(hidden_arguments=("tenant",)), "2.0.0"),
        (Overlay(hidden=True), "1.0.0"),
    ],
)
async def test_what_an_overlay_changes_decides_the_number_of_the_new_version(
    overlay: Overlay, number: str
) -> None:
    _, _, catalogue = await desk(entry())
    assert str((await overlaid(catalogue, overlay)).head_version) == number


@pytest.mark.promise("overlay-survives-the-source")
async def test_the_source_lists_again_and_the_overlay_stays_without_a_change() -> None:
    _, _, catalogue = await desk(entry())
    tool = await overlaid(catalogue, Overlay(description="Mine.", presets={"tenant": "a"}))
    before = catalogue.snapshot.revision

    after = await listed(catalogue, "desk", entry(), now=LATER)

    assert (after.revision, after.tools[SAY]) == (before, tool)
    assert head(tool).came_from(entry())


@pytest.mark.promise("overlay-survives-the-source")
async def test_a_changed_contract_of_the_source_comes_with_the_overlay_on_it() -> None:
    _, _, catalogue = await desk(entry())
    await overlaid(catalogue, Overlay(read_only=True))
    changed = {**entry(), "description": "Say it louder."}

    after = await listed(catalogue, "desk", changed, now=LATER)

    now = head(after.tools[SAY])
    assert (str(now.version), now.contract.description) == ("1.1.1", "Say it louder.")
    assert now.contract.behaviour.read_only is True
    assert now.offered.behaviour.read_only is None


async def test_a_changed_text_under_an_overlay_that_covers_it_is_kept_for_later() -> None:
    _, _, catalogue = await desk(entry())
    await overlaid(catalogue, Overlay(description="Mine."))
    await listed(catalogue, "desk", {**entry(), "description": "Theirs, new."}, now=LATER)
    assert head(await cleared(catalogue)).contract.description == "Theirs, new."


async def test_other_words_about_when_to_use_of_the_source_itself_stay_a_patch() -> None:
    plain = Contract(group="desk", name="say", when_to_use="now")
    _, _, catalogue = await desk(plain)
    later = plain.model_copy(update={"when_to_use": "later"})
    after = await listed(catalogue, "desk", later, now=LATER)
    assert str(after.tools[SAY].head_version) == "1.0.1"


@pytest.mark.promise("overlay-restores")
async def test_without_its_overlay_the_tool_answers_under_its_old_version() -> None:
    _, _, catalogue = await desk(entry())
    before = catalogue.snapshot.tools[SAY]
    await overlaid(catalogue, Overlay(presets={"tenant": "a"}))

    after = await cleared(catalogue)

    assert head(after) == head(before)
    assert statuses(after) == {"1.0.0": "active", "2.0.0": "retired"}
    assert after.statuses[Version(2)].reason == REPLACED
    assert catalogue.snapshot.overlays == {}
    assert drop_overlay(catalogue.snapshot, SAY, LATER) == []


async def test_an_empty_overlay_is_none_and_the_same_overlay_is_no_change() -> None:
    _, _, catalogue = await desk(entry())
    await overlaid(catalogue, Overlay(title="Say"))
    assert put_overlay(catalogue.snapshot, SAY, Overlay(title="Say"), LATER) == []
    assert str((await overlaid(catalogue, Overlay())).head_version) == "1.0.0"


async def test_only_versions_with_the_same_arguments_and_behaviour_answer_beside_the_new_one() -> (
    None
):
    _, _, catalogue = await desk(entry())
    beside = await overlaid(catalogue, Overlay(description="Aloud."))
    alone = await overlaid(catalogue, Overlay(description="Aloud.", presets={"tenant": "a"}))
    assert statuses(beside) == {"1.0.0": "active", "1.0.1": "active"}
    assert statuses(alone) == {"1.0.0": "retired", "1.0.1": "retired", "2.0.0": "active"}


async def test_an_overlay_may_come_before_its_tool() -> None:
    _, _, catalogue = await desk()
    await catalogue.change(
        lambda snapshot: put_overlay(snapshot, SAY, Overlay(hidden=True, title="Say"), NOW)
    )
    after = await listed(catalogue, "desk", entry())
    assert after.tools[SAY].is_hidden
    assert str(after.tools[SAY].head_version) == "1.0.0"


@pytest.mark.promise("overlay-presets")
async def test_presets_are_sent_with_each_call_and_the_caller_neither_sees_nor_gives_them() -> None:
    calls, provider, catalogue = await desk(entry("tenant"))
    await overlaid(catalogue, Overlay(presets={"tenant": "a"}))

    sent = await calls.call(Call("desk__say", {"text": "hi"}))
    given = await calls.call(Call("desk__say", {"text": "hi", "tenant": "b"}))
    old = await calls.call(Call("desk/say@1", {"text": "hi", "tenant": "b"}))

    assert sent.error is None
    assert provider.called == [("say", {"text": "hi", "tenant": "a"})]
    assert "tenant" not in str(head(catalogue.snapshot.tools[SAY]).contract.input_schema)
    assert given.error is not None
    assert given.error.code == INVALID_ARGUMENTS
    assert old.error is not None


@pytest.mark.promise("overlay-presets")
async def test_reserved_arguments_are_refused_also_where_unknown_ones_are_let_through() -> None:
    open_entry = raw_tool("say", {"text": TEXT, "tenant": TEXT})
    calls, provider, catalogue = await desk(open_entry)
    lenient = GroupRecord("desk", refuses_unknown_arguments=False)
    await catalogue.change(lambda _: [PutGroup(lenient)])
    await overlaid(catalogue, Overlay(hidden_arguments=("tenant",)))

    refused = await calls.call(Call("desk__say", {"tenant": "b"}))
    passed = await calls.call(Call("desk__say", {"other": "b"}))

    assert refused.error is not None
    assert "'tenant' is set by the operator" in refused.error.message
    assert passed.error is None
    assert provider.called == [("say", {"other": "b"})]


@pytest.mark.promise("overlay-presets")
async def test_what_is_sent_fits_the_sources_own_schema_and_a_refusal_tells_no_preset() -> None:
    strict = entry(text=TEXT, tenant=TEXT, days={"type": "integer"})
    strict["inputSchema"] = {
        **strict["inputSchema"],  # type: ignore[dict-item]
        "dependentRequired": {"tenant": ["days"]},
        "if": {"properties": {"text": {"const": "no"}}, "required": ["text"]},
        "then": {"properties": {"tenant": {"const": "z"}}},
    }
    calls, provider, catalogue = await desk(strict)
    await overlaid(catalogue, Overlay(presets={"tenant": "secret tenant"}))

    lacking = await calls.call(Call("desk__say", {"text": "hi"}))
    clashing = await calls.call(Call("desk__say", {"text": "no", "days": 1}))
    fitting = await calls.call(Call("desk__say", {"text": "hi", "days": 1}))

    told = [r.error.message for r in (lacking, clashing) if r.error is not None]
    assert "expected the required property 'days'" in told[0]
    assert "do not go with what the operator has set" in told[1]
    assert "secret tenant" not in str(told)
    assert fitting.error is None
    assert len(provider.called) == 1


@pytest.mark.promise("overlay-hides")
async def test_a_hidden_tool_is_unknown_to_callers_until_it_is_shown_again() -> None:
    calls, provider, catalogue = await desk(entry())
    await overlaid(catalogue, Overlay(hidden=True))

    for name in ("desk__say", "desk/say@1.0.0"):
        result = await calls.call(Call(name))
        assert result.error is not None
        assert result.error.code == UNKNOWN_TOOL
    assert [*catalogue.snapshot.live_tools()] == []
    await listed(catalogue, "desk", {**entry(), "description": "New."}, now=LATER)
    assert [*catalogue.snapshot.live_tools()] == []

    shown = await cleared(catalogue)

    assert str(shown.head_version) == "1.0.1"
    assert (await calls.call(Call("desk__say"))).error is None
    assert len(provider.called) == 1


@pytest.mark.promise("overlay-misfit-holds")
async def test_a_tool_whose_preset_no_longer_fits_is_held_and_its_siblings_live() -> None:
    calls, provider, catalogue = await desk(entry(), raw_tool("read"))
    await overlaid(catalogue, Overlay(presets={"tenant": "a"}))

    renamed = entry(text=TEXT, tenant_id=TEXT)
    after = await listed(catalogue, "desk", renamed, raw_tool("read"), now=LATER)

    tool = after.tools[SAY]
    assert statuses(tool) == {"1.0.0": "retired", "2.0.0": "retired", "3.0.0": "held"}
    reason = tool.statuses[Version(3)].reason
    assert reason.startswith(MISFIT)
    assert "unknown argument 'tenant'" in reason
    assert tool.head is None
    refused = await calls.call(Call("desk__say", {"text": "hi", "tenant_id": "b"}))
    assert refused.error is not None
    assert "is held" in refused.error.message
    assert (await calls.call(Call("desk__read"))).error is None
    assert [name for name, _ in provider.called] == ["read"]
    assert (await listed(catalogue, "desk", renamed, raw_tool("read"))).revision == after.revision


@pytest.mark.promise("overlay-misfit-holds")
@pytest.mark.parametrize("mend", ["another overlay", "no overlay", "the source"])
async def test_a_held_tool_answers_again_when_overlay_and_source_agree(mend: str) -> None:
    _, _, catalogue = await desk(entry())
    await overlaid(catalogue, Overlay(presets={"tenant": "a"}))
    await listed(catalogue, "desk", entry(text=TEXT, tenant_id=TEXT), now=LATER)

    if mend == "another overlay":
        tool = await overlaid(catalogue, Overlay(presets={"tenant_id": "a"}))
        assert (str(tool.head_version), head(tool).presets) == ("4.0.0", {"tenant_id": "a"})
    elif mend == "no overlay":
        tool = await cleared(catalogue)
        assert (str(tool.head_version), head(tool).presets) == ("3.0.0", {})
    else:
        tool = (await listed(catalogue, "desk", entry(), now=LATER)).tools[SAY]
        assert (str(tool.head_version), head(tool).presets) == ("2.0.0", {"tenant": "a"})
    assert [status for status in statuses(tool).values() if status == "active"] == ["active"]


async def test_an_overlay_before_its_tool_that_does_not_fit_holds_the_first_version() -> None:
    _, _, catalogue = await desk()
    wrong = Overlay(presets={"nobody": "a"})
    await catalogue.change(lambda snapshot: put_overlay(snapshot, SAY, wrong, NOW))
    after = await listed(catalogue, "desk", entry())
    assert statuses(after.tools[SAY]) == {"1.0.0": "held"}


async def test_a_live_version_is_held_when_its_contract_comes_back_under_a_misfit() -> None:
    one = entry(text=TEXT, tenant_id=TEXT)
    _, _, catalogue = await desk(one)
    await listed(catalogue, "desk", entry(), now=LATER)
    await overlaid(catalogue, Overlay(presets={"tenant": "a"}))
    after = await listed(catalogue, "desk", one, now=LATER)
    assert statuses(after.tools[SAY]) == {"1.0.0": "held", "2.0.0": "retired", "3.0.0": "retired"}


async def test_a_held_tool_that_is_not_listed_any_more_is_retired_with_its_source() -> None:
    _, _, catalogue = await desk()
    await catalogue.change(
        lambda snapshot: put_overlay(snapshot, SAY, Overlay(presets={"nobody": "a"}), NOW)
    )
    await listed(catalogue, "desk", entry())
    after = await listed(catalogue, "desk", now=LATER)
    assert after.tools[SAY].statuses[Version(1)].reason == NOT_LISTED


@pytest.mark.promise("overlay-misfit-holds")
async def test_an_overlay_that_does_not_fit_the_tool_as_it_is_now_is_refused() -> None:
    _, _, catalogue = await desk(entry())
    before = catalogue.snapshot
    with pytest.raises(ToolError, match="unknown argument 'nobody'") as refusal:
        await overlaid(catalogue, Overlay(presets={"nobody": 1}))
    assert refusal.value.code == INVALID_SETTINGS
    assert catalogue.snapshot is before


async def test_an_example_that_no_longer_fits_is_left_out_and_told_with_the_version() -> None:
    _, _, catalogue = await desk(entry())
    overlay = Overlay.read({"examples": [{"request": "greet", "arguments": {"tenant": "a"}}]})
    await overlaid(catalogue, overlay)
    after = await listed(catalogue, "desk", entry(text=TEXT), now=LATER)
    now = head(after.tools[SAY])
    assert now.contract.examples == ()
    assert "the example 1 'greet' does not fit" in now.left_out[0]
    assert head(await cleared(catalogue)).left_out == ()


async def test_a_new_example_that_does_not_fit_is_refused_and_an_old_one_is_no_obstacle() -> None:
    _, _, catalogue = await desk(entry())
    wrong = Overlay.read({"examples": [{"request": "greet", "arguments": {"town": "a"}}]})
    with pytest.raises(ToolError, match="example 1 'greet' does not fit"):
        await overlaid(catalogue, wrong)
    await overlaid(catalogue, Overlay(title="Say"))
    with pytest.raises(ToolError, match="example 1 'greet' does not fit"):
        await overlaid(catalogue, wrong)

    fitting = Overlay.read({"examples": [{"request": "greet", "arguments": {"tenant": "a"}}]})
    await overlaid(catalogue, fitting)
    await listed(catalogue, "desk", entry(text=TEXT), now=LATER)
    titled = fitting.model_copy(update={"title": "Say"})
    assert head(await overlaid(catalogue, titled)).contract.title == "Say"


async def test_an_overlay_of_a_retired_tool_waits_for_it() -> None:
    _, _, catalogue = await desk(entry())
    await catalogue.change(lambda snapshot: remove_source(snapshot, "desk", NOW))
    tool = await overlaid(catalogue, Overlay(title="Say"))
    assert statuses(tool) == {"1.0.0": "retired"}
    after = await listed(catalogue, "desk", entry(), now=LATER)
    assert head(after.tools[SAY]).contract.title == "Say"


def test_an_overlay_in_an_empty_catalogue_changes_nothing_else() -> None:
    assert len(put_overlay(Snapshot(), SAY, Overlay(title="Say"), NOW)) == 1


@pytest.mark.promise("overlay-makes-versions")
async def test_the_crib_counts_on_from_a_declared_version_and_the_author_goes_beyond() -> None:
    told = Contract(group="desk", name="say", version=Version(1, 2, 0), description="Say.")
    _, _, catalogue = await desk(told)
    assert str((await overlaid(catalogue, Overlay(title="Say"))).head_version) == "1.2.1"
    again = await listed(catalogue, "desk", told, now=LATER)
    assert str(again.tools[SAY].head_version) == "1.2.1"

    for number, wanted in (((1, 2, 1), None), ((1, 3, 0), "1.3.0")):
        newer = told.model_copy(
            update={"version": Version(*number), "description": f"Say {number}."}
        )
        after = await listed(catalogue, "desk", newer, now=LATER)
        if wanted is None:
            assert "declare a version above it" in after.quarantined["desk"][0].reason
        else:
            assert str(after.tools[SAY].head_version) == wanted
            assert head(after.tools[SAY]).contract.title == "Say"
    assert head(await cleared(catalogue)).contract.title is None


async def test_a_first_listing_under_an_overlay_keeps_its_declared_version() -> None:
    told = Contract(group="desk", name="say", version=Version(3, 1, 0))
    _, _, catalogue = await desk()
    await catalogue.change(lambda snapshot: put_overlay(snapshot, SAY, Overlay(title="Say"), NOW))
    after = await listed(catalogue, "desk", told)
    assert str(after.tools[SAY].head_version) == "3.1.0"
    assert str((await cleared(catalogue)).head_version) == "3.1.1"
    again = await listed(catalogue, "desk", told, now=LATER)
    assert (str(again.tools[SAY].head_version), again.quarantined) == ("3.1.1", {})


async def test_a_deprecated_tool_stays_so_under_its_overlay() -> None:
    old = Contract.model_validate(
        {"group": "desk", "name": "say", "deprecation": {"since": "2026-01-01"}}
    )
    _, _, catalogue = await desk(old)
    tool = await overlaid(catalogue, Overlay(title="Say"))
    assert statuses(tool) == {"1.0.0": "deprecated", "1.0.1": "deprecated"}


async def test_a_person_who_yanked_a_version_is_not_overruled_by_an_overlay() -> None:
    _, _, catalogue = await desk(entry())
    tool = catalogue.snapshot.tools[SAY]
    yanked = replace(tool.statuses[Version(1)], status="yanked")
    snapshot = replace(
        catalogue.snapshot, tools={SAY: replace(tool, statuses={Version(1): yanked})}
    )
    assert len(put_overlay(snapshot, SAY, Overlay(title="Say"), NOW)) == 1


async def test_a_version_that_a_person_deprecated_stays_so_when_it_answers_again() -> None:
    _, _, catalogue = await desk(entry())
    await listed(catalogue, "desk", {**entry(), "description": "New."}, now=LATER)
    old = StatusRecord("deprecated", "by Ana", NOW)
    await catalogue.change(lambda _: [SetStatus(SAY, Version(1), old)])
    after = await listed(catalogue, "desk", entry(), now=LATER)
    assert str(after.tools[SAY].head_version) == "1.0.0"
    assert after.tools[SAY].statuses[Version(1)] == old
