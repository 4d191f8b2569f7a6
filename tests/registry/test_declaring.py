"""A catalogue becomes what a file declares, and nothing else is touched."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.registry.cribs import LATER, NOW, listed, memory_catalogue, raw_tool
from toolcrib_protocol.call_rules import CallRules, RuleScope
from toolcrib_protocol.errors import INVALID_SETTINGS
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.overlay import Overlay
from toolcrib_registry.changes import PutGroup
from toolcrib_registry.declaring import (
    Declaration,
    DeclarationError,
    DeclaredGroup,
    declare,
)
from toolcrib_registry.differences import Detail
from toolcrib_registry.groups import create_group
from toolcrib_registry.overlaying import put_overlay
from toolcrib_registry.records import (
    EndpointMode,
    GroupRecord,
    ProfileRecord,
    SourceKind,
    SourceRecord,
)

if TYPE_CHECKING:
    from toolcrib_registry.catalogue import Catalogue

SEND = ToolId("mail", "send")
MAIL = SourceRecord(
    "mail", SourceKind.MCP, {"command": "mail", "env": {"KEY": "${KEY}", "SAME": "1"}}, "mail"
)
TEAM = Declaration(
    "team",
    {"mail": MAIL},
    {"office": DeclaredGroup("office", "Office", members=(SEND,))},
    {SEND: Overlay(read_only=True)},
    {"plain": ProfileRecord("plain", mode=EndpointMode.FULL)},
)


async def crib(declaration: Declaration | None = TEAM) -> Catalogue:
    catalogue = await memory_catalogue()
    if declaration is not None:
        await applied(catalogue, declaration)
        await listed_mail(catalogue)
    return catalogue


async def listed_mail(catalogue: Catalogue) -> None:
    source = catalogue.snapshot.sources["mail"]
    await listed(catalogue, "mail", raw_tool("send", {"to": {"type": "string"}}))
    # `listed` registers settings of its own; these are those that were declared.
    await applied(catalogue, replace(TEAM, sources={"mail": source}))


async def applied(
    catalogue: Catalogue, declaration: Declaration, *, prune: bool = False
) -> list[str]:
    decided = declare(catalogue.snapshot, declaration, NOW, prune=prune)
    await catalogue.change(lambda _: decided.changes)
    return [f"{d.action} {d.kind} {d.name}" for d in decided.differences]


@pytest.mark.promise("config-only-what-changed")
async def test_everything_is_put_in_at_once_and_the_same_again_changes_nothing() -> None:
    catalogue = await memory_catalogue()
    told = await applied(catalogue, TEAM)
    assert told == [
        "add source mail",
        "add group office",
        "add profile plain",
        "add overlay mail/send",
    ]
    snapshot = catalogue.snapshot
    assert snapshot.revision == 1
    assert snapshot.sources["mail"] == MAIL
    assert snapshot.groups["office"].members == (SEND,)
    assert snapshot.overlays[SEND].overlay == Overlay(read_only=True)
    assert declare(snapshot, TEAM, LATER).changes == ()


@pytest.mark.promise("config-only-what-changed")
async def test_settings_that_say_nothing_are_no_difference() -> None:
    catalogue = await crib()
    spelt = replace(MAIL, spec={"args": [], "cwd": None, **MAIL.spec})
    assert declare(catalogue.snapshot, replace(TEAM, sources={"mail": spelt}), NOW).changes == ()


async def test_differences_name_the_keys_and_keep_what_may_be_secret_untold() -> None:
    catalogue = await crib()
    changed = replace(
        MAIL, spec={"command": "post", "env": {"KEY": "word", "SAME": "1", "NEW": "1"}}
    )
    decided = declare(catalogue.snapshot, replace(TEAM, sources={"mail": changed}), NOW)
    (difference,) = decided.differences
    assert difference.details == (
        Detail("command", "mail", "post"),
        Detail("env.KEY"),
        Detail("env.NEW"),
    )
    assert "word" not in str(difference.as_json())
    gone = replace(MAIL, spec={"command": "mail"})
    decided = declare(catalogue.snapshot, replace(TEAM, sources={"mail": gone}), NOW)
    assert decided.differences[0].details == (Detail("env.KEY"), Detail("env.SAME"))


@pytest.mark.promise("config-removes-its-own")
async def test_what_the_file_put_in_and_no_longer_names_goes_and_the_rest_stays() -> None:
    catalogue = await crib()
    await catalogue.change(lambda s: create_group(s, GroupRecord("mine", members=(SEND,))))
    told = await applied(catalogue, Declaration("team", {"mail": MAIL}))
    assert told == ["remove overlay mail/send", "remove profile plain", "remove group office"]
    assert {"mine", "mail"} <= catalogue.snapshot.groups.keys()
    told = await applied(catalogue, Declaration("team"))
    assert told == ["remove source mail"]
    assert catalogue.snapshot.tools[SEND].head is None
    assert [*catalogue.snapshot.groups] == ["mine"]
    assert catalogue.snapshot.declarations == {}
    assert declare(catalogue.snapshot, Declaration("team"), NOW).changes == ()


@pytest.mark.promise("config-removes-its-own")
async def test_files_of_other_names_keep_what_they_put_in_also_when_pruning() -> None:
    catalogue = await crib()
    await catalogue.change(lambda s: create_group(s, GroupRecord("mine")))
    other = Declaration("other", {"mail": MAIL}, {"shared": DeclaredGroup("shared")})
    await applied(catalogue, other)
    told = await applied(catalogue, Declaration("team"), prune=True)
    assert told == [
        "remove overlay mail/send",
        "remove profile plain",
        "remove group mine",
        "remove group office",
    ]
    assert [*catalogue.snapshot.sources] == ["mail"]
    assert "shared" in catalogue.snapshot.groups


@pytest.mark.promise("config-removes-its-own")
async def test_pruning_takes_out_what_no_file_names() -> None:
    catalogue = await memory_catalogue()
    await listed(catalogue, "mail", raw_tool("send"))
    await catalogue.change(lambda s: put_overlay(s, SEND, Overlay(title="Send"), NOW))
    assert await applied(catalogue, Declaration("team")) == []
    told = await applied(catalogue, Declaration("team"), prune=True)
    assert told == ["remove overlay mail/send", "remove source mail"]


@pytest.mark.promise("config-removes-its-own")
async def test_rules_that_a_file_put_in_change_and_go_with_it() -> None:
    catalogue = await memory_catalogue()
    scope = RuleScope.parse("group:mail")
    first = Declaration("team", rules={scope: CallRules(retries=1)})
    assert await applied(catalogue, first) == ["add rules group:mail"]
    assert await applied(catalogue, first) == []
    second = Declaration("team", rules={scope: CallRules(retries=2)})
    assert await applied(catalogue, second) == ["change rules group:mail"]
    assert await applied(catalogue, Declaration("team")) == ["remove rules group:mail"]
    assert catalogue.snapshot.rules == {}


async def test_what_is_gone_already_is_no_difference() -> None:
    catalogue = await crib()
    fewer = Declaration("team", {"mail": MAIL})
    snapshot = replace(catalogue.snapshot, overlays={}, profiles={}, groups={})
    assert declare(snapshot, fewer, NOW).differences == ()


async def test_a_home_group_loses_what_was_said_about_it_and_keeps_its_tools() -> None:
    catalogue = await crib()
    said = replace(TEAM, groups={"mail": DeclaredGroup("mail", "Post", "Letters.")})
    await applied(catalogue, said)
    assert catalogue.snapshot.groups["mail"].description == "Letters."
    told = await applied(catalogue, replace(TEAM, groups={}))
    assert told == ["remove group mail"]
    assert catalogue.snapshot.groups["mail"] == GroupRecord("mail")


async def test_a_group_takes_what_is_said_and_keeps_the_rest() -> None:
    catalogue = await crib()
    read = ToolId("mail", "read")
    await catalogue.change(
        lambda s: create_group(s, GroupRecord("two", "Two", "Both.", (SEND, read)))
    )
    same = DeclaredGroup("two", members=(read, SEND))
    assert (
        declare(
            catalogue.snapshot, replace(TEAM, groups={**TEAM.groups, "two": same}), NOW
        ).differences
        == ()
    )
    await applied(
        catalogue,
        Declaration(
            "x",
            groups={"two": DeclaredGroup("two", description="", refuses_unknown_arguments=False)},
        ),
    )
    assert catalogue.snapshot.groups["two"] == GroupRecord(
        "two", "Two", "", (SEND, read), refuses_unknown_arguments=False
    )


async def test_a_source_of_another_kind_takes_the_place_of_the_old_one() -> None:
    catalogue = await crib()
    python = SourceRecord("mail", SourceKind.PYTHON, {"target": "mail"}, "mail")
    told = await applied(catalogue, replace(TEAM, sources={"mail": python}))
    assert told == ["change source mail"]
    assert catalogue.snapshot.sources["mail"] == python
    assert catalogue.snapshot.tools[SEND].head is None


@pytest.mark.promise("config-all-or-nothing")
async def test_an_overlay_that_does_not_fit_refuses_the_whole_declaration() -> None:
    catalogue = await crib()
    wrong = replace(TEAM, overlays={SEND: Overlay(presets={"nobody": 1})}, profiles={})
    before = catalogue.snapshot
    with pytest.raises(DeclarationError, match="unknown argument 'nobody'") as refusal:
        await applied(catalogue, wrong)
    assert (refusal.value.part, refusal.value.code) == (("overlay", "mail/send"), INVALID_SETTINGS)
    assert catalogue.snapshot is before


async def test_an_overlay_for_a_source_that_changes_with_it_may_fit_what_comes() -> None:
    catalogue = await crib()
    newer = replace(MAIL, spec={"command": "newer"})
    ahead = replace(TEAM, sources={"mail": newer}, overlays={SEND: Overlay(presets={"cc": "a"})})
    await applied(catalogue, ahead)
    assert catalogue.snapshot.tools[SEND].head is None
    await listed(catalogue, "mail", raw_tool("send", {"cc": {"type": "string"}}), now=LATER)
    head = catalogue.snapshot.tools[SEND].head
    assert head is not None
    assert head.presets == {"cc": "a"}


@pytest.mark.promise("config-removes-its-own")
async def test_what_a_source_says_of_its_group_stays_when_a_file_that_said_the_same_does_not() -> (
    None
):
    catalogue = await crib()
    own = GroupRecord("mail", "", "Letters.")
    await catalogue.change(lambda _: [PutGroup(own)])
    exported = replace(TEAM, groups={**TEAM.groups, "mail": DeclaredGroup("mail", "", "Letters.")})

    assert await applied(catalogue, exported) == []
    assert await applied(catalogue, TEAM) == []
    assert catalogue.snapshot.groups["mail"] == own
