"""Identity, reference and published name of a tool."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_protocol.errors import INVALID_NAME, INVALID_REFERENCE, ToolError
from toolcrib_protocol.names import (
    GROUP_NAME,
    PUBLISHED_NAME,
    Reference,
    ToolId,
    check_group_name,
    nearest,
    published_name,
    slug,
)
from toolcrib_protocol.version import VersionRange

groups = st.from_regex(GROUP_NAME, fullmatch=True)
tool_names = st.text(min_size=1, max_size=100).filter(lambda text: text == text.strip())
identities = st.builds(ToolId, groups, st.text(min_size=1, max_size=100))
written_ranges = st.sampled_from(["", "1.2.3", "^1", "~0.3", ">=1,<3", "2"])


@pytest.mark.parametrize(
    ("text", "group", "name", "written"),
    [
        ("mail/send", "mail", "send", "latest"),
        ("mail/send@^2", "mail", "send", "^2"),
        ("mail/send@latest", "mail", "send", "latest"),
        (" mail/send ", "mail", "send", "latest"),
        ("fs/read/file@1.0.0", "fs", "read/file", "1.0.0"),
        ("npm/@scope/tool", "npm", "@scope/tool", "latest"),
        ("npm/pkg@types", "npm", "pkg@types", "latest"),
        ("npm/react@18@latest", "npm", "react@18", "latest"),
        ("a.b-c/天气", "a.b-c", "天气", "latest"),
    ],
)
def test_a_reference_is_a_group_a_name_and_a_range(
    text: str, group: str, name: str, written: str
) -> None:
    reference = Reference.parse(text)
    assert reference.tool == ToolId(group, name)
    assert str(reference.range) == written


@given(groups, tool_names, written_ranges)
def test_a_reference_is_read_back_as_it_was_written(group: str, name: str, written: str) -> None:
    reference = Reference(ToolId(group, name), VersionRange.parse(written))
    assert Reference.parse(str(reference)) == reference


def test_a_name_that_ends_like_a_range_keeps_its_own_text() -> None:
    reference = Reference(ToolId("npm", "react@18"))
    assert str(reference) == "npm/react@18@latest"
    assert Reference.parse(str(reference)).tool.name == "react@18"


@pytest.mark.parametrize(
    "text", ["", "send", "/send", "mail/", "-mail/send", "ma il/send", "a" * 65 + "/send"]
)
def test_text_that_is_no_reference_is_refused_with_the_form_to_write(text: str) -> None:
    with pytest.raises(ToolError, match="group/tool") as caught:
        Reference.parse(text)
    assert caught.value.code == INVALID_REFERENCE


def test_a_bad_range_in_a_reference_is_refused_as_a_range() -> None:
    with pytest.raises(ToolError, match="not a version range"):
        Reference.parse("mail/send@^x")


@given(groups)
def test_a_group_name_that_may_be_used_is_given_back(name: str) -> None:
    assert check_group_name(name) == name


@pytest.mark.parametrize("name", ["", "my tools", "-x", "x.", "a" * 65, "天气", "a/b"])
def test_a_group_name_that_cannot_be_used_is_refused_with_one_that_can(name: str) -> None:
    with pytest.raises(ToolError) as caught:
        check_group_name(name, what="source")
    assert caught.value.code == INVALID_NAME
    assert "cannot name a source" in caught.value.message
    assert repr(slug(name)) in caught.value.message


@given(st.text(max_size=200))
def test_every_text_has_a_usable_spelling_and_keeps_it(text: str) -> None:
    name = slug(text)
    assert GROUP_NAME.fullmatch(name)
    assert slug(name) == name


def test_accents_are_folded_and_lost_letters_leave_a_hash() -> None:
    assert slug("Café tools") == "Cafe-tools"
    assert slug("天气") != slug("新闻")
    assert slug("天气").startswith("source-")
    assert slug("a" * 65) != slug("a" * 66)


@pytest.mark.promise("contract-published-names")
@given(identities, st.sets(st.text(max_size=5)))
def test_every_tool_gets_a_name_that_model_apis_accept(tool: ToolId, taken: set[str]) -> None:
    assert PUBLISHED_NAME.fullmatch(published_name(tool, taken))


@pytest.mark.promise("contract-published-names")
@given(st.lists(identities, unique=True, max_size=30))
def test_no_two_tools_get_the_same_published_name(tools: list[ToolId]) -> None:
    taken: set[str] = set()
    for tool in tools:
        taken.add(published_name(tool, taken))
    assert len(taken) == len(tools)


def test_a_short_plain_name_is_published_as_group_and_name() -> None:
    assert published_name(ToolId("mail", "send"), ()) == "mail__send"


def test_two_tools_that_spell_the_same_name_are_told_apart_and_the_first_keeps_it() -> None:
    first = published_name(ToolId("a", "b__c"), ())
    second = published_name(ToolId("a__b", "c"), {first})
    third = published_name(ToolId("a__b", "c"), {first, second})
    assert first == "a__b__c"
    assert second.startswith("a__b__c_")
    assert len({first, second, third}) == 3


def test_a_name_that_had_to_be_changed_depends_on_the_tool_alone() -> None:
    tool = ToolId("files", "read/file")
    assert published_name(tool, ()) == published_name(tool, {"other__tool"})
    assert published_name(tool, ()) != published_name(ToolId("files", "read.file"), ())


def test_identities_are_ordered_and_written_with_a_slash() -> None:
    assert ToolId("a", "z") < ToolId("b", "a")
    assert str(ToolId("a", "z")) == "a/z"


def test_the_nearest_names_come_best_first_and_unlike_ones_not_at_all() -> None:
    known = ["mail__send", "mail__send_draft", "calendar__create_event", "weather__forecast"]
    assert nearest("Mail send", known) == ["mail__send", "mail__send_draft"]
    assert nearest("mail_sned", known, limit=1) == ["mail__send"]
    assert nearest("zzz", known) == []
    assert nearest("abcdefghij", ["jihgfedcba"]) == []


def test_a_name_of_punctuation_only_is_near_to_nothing() -> None:
    assert nearest("!!!", ["???", "mail"]) == []
