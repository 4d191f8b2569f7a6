"""Versions are ordered as numbers, and each written range is one interval."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_protocol.errors import INVALID_VERSION, ToolError
from toolcrib_protocol.version import Version, VersionRange

_parts = st.integers(0, 999_999_999)
versions = st.builds(Version, _parts, _parts, _parts)
_near = st.integers(0, 3)
near_versions = st.builds(Version, _near, _near, _near)
operators = st.sampled_from(["", "=", "^", "~", ">=", ">", "<", "<="])


@st.composite
def ranges(draw: st.DrawFn) -> str:
    clauses = draw(
        st.lists(st.tuples(operators, near_versions, st.integers(1, 3)), min_size=1, max_size=3)
    )
    return ",".join(
        operator + ".".join(str(version).split(".")[:parts]) for operator, version, parts in clauses
    )


@given(versions)
def test_a_version_is_read_back_as_it_was_written(version: Version) -> None:
    assert Version.parse(str(version)) == version


@given(versions, versions)
def test_versions_are_ordered_by_their_numbers_and_not_as_text(a: Version, b: Version) -> None:
    numbers = (a.major, a.minor, a.patch), (b.major, b.minor, b.patch)
    assert (a < b) == (numbers[0] < numbers[1])


@given(versions)
def test_each_next_version_is_above_and_larger_changes_rise_higher(version: Version) -> None:
    assert version < version.next_patch() < version.next_minor() < version.next_major()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "1.2",
        "1.2.3-beta",
        "v1.2.3",
        "01.2.3",
        "1.2.3.4",
        "1.-2.3",
        "1.2.3\n",
        "٣.1.1",
        "1" * 10 + ".0.0",
    ],
)
def test_text_that_is_no_version_is_refused_with_the_form_to_write(text: str) -> None:
    with pytest.raises(ToolError, match=r"MAJOR\.MINOR\.PATCH") as caught:
        Version.parse(text)
    assert caught.value.code == INVALID_VERSION
    assert repr(text) in caught.value.message


@pytest.mark.promise("contract-version-ranges")
@pytest.mark.parametrize(
    ("written", "inside", "outside"),
    [
        ("", ["0.0.0", "9.9.9"], []),
        ("latest", ["0.0.1", "3.0.0"], []),
        ("*", ["0.0.1"], []),
        ("1.2.3", ["1.2.3"], ["1.2.2", "1.2.4"]),
        ("=1.2.3", ["1.2.3"], ["1.2.4"]),
        ("1", ["1.0.0", "1.9.9"], ["0.9.9", "2.0.0"]),
        ("1.2", ["1.2.0", "1.2.9"], ["1.1.9", "1.3.0"]),
        ("^1.2", ["1.2.0", "1.9.0"], ["1.1.9", "2.0.0"]),
        ("^0.3", ["0.3.0", "0.3.9"], ["0.4.0", "0.2.9"]),
        ("^0.0.3", ["0.0.3"], ["0.0.4", "0.0.2"]),
        ("^0.0", ["0.0.0", "0.0.7"], ["0.1.0"]),
        ("^0", ["0.0.0", "0.9.9"], ["1.0.0"]),
        ("~1.2.3", ["1.2.3", "1.2.9"], ["1.3.0", "1.2.2"]),
        ("~1", ["1.0.0", "1.9.9"], ["2.0.0"]),
        (">=1.1,<3", ["1.1.0", "2.9.9"], ["1.0.9", "3.0.0"]),
        (">1.2", ["1.3.0"], ["1.2.9"]),
        (">1.2.3", ["1.2.4"], ["1.2.3"]),
        ("<=1.2", ["1.2.9", "0.0.0"], ["1.3.0"]),
        ("<1", ["0.9.9"], ["1.0.0"]),
        (" >= 1 , < 2 ", ["1.5.0"], ["2.0.0"]),
        (">=2,<1", [], ["1.5.0", "2.0.0", "0.5.0"]),
        ("<3,<2", ["1.9.9"], ["2.0.0"]),
        (">=1,>=2", ["2.0.0"], ["1.9.9"]),
    ],
)
def test_a_range_admits_what_its_text_says(
    written: str, inside: list[str], outside: list[str]
) -> None:
    parsed = VersionRange.parse(written)
    assert [text for text in inside if not parsed.admits(Version.parse(text))] == []
    assert [text for text in outside if parsed.admits(Version.parse(text))] == []


@pytest.mark.promise("contract-version-ranges")
@given(ranges(), near_versions)
def test_a_list_of_clauses_admits_what_every_clause_admits(text: str, version: Version) -> None:
    together = VersionRange.parse(text).admits(version)
    assert together == all(VersionRange.parse(clause).admits(version) for clause in text.split(","))


@given(ranges())
def test_a_range_is_read_back_as_it_was_written(text: str) -> None:
    parsed = VersionRange.parse(text)
    assert VersionRange.parse(str(parsed)) == parsed


@given(ranges(), st.lists(near_versions))
def test_the_newest_version_in_a_range_is_the_highest_that_it_admits(
    text: str, known: list[Version]
) -> None:
    parsed = VersionRange.parse(text)
    assert parsed.newest(known) == max(filter(parsed.admits, known), default=None)


@pytest.mark.parametrize("text", ["newest", "^", "1.x", ">=1,", "1.", "^v1", "1 2", "!=1", "^1.02"])
def test_text_that_is_no_range_is_refused_with_the_forms_to_write(text: str) -> None:
    with pytest.raises(ToolError, match=r"\^1, ~1\.2, >=1,<3 or latest") as caught:
        VersionRange.parse(text)
    assert caught.value.code == INVALID_VERSION
