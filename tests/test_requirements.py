"""Promises and tests know each other, both ways."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.promise_marks import Mark, marks_in, marks_of_all_tests
from tests.requirements import PROMISES

pytestmark = pytest.mark.promise("house-promises-proved")


def test_no_two_promises_share_an_id() -> None:
    counts = Counter(promise.id for promise in PROMISES)
    assert [id_ for id_, count in counts.items() if count > 1] == []


def test_every_promise_says_what_holds_and_who_asked() -> None:
    vague = [
        promise.id
        for promise in PROMISES
        if not promise.statement.endswith(".") or not promise.source.strip()
    ]
    assert vague == []


def test_every_promise_has_a_test() -> None:
    proved = {mark.id for mark in marks_of_all_tests()}
    assert [promise.id for promise in PROMISES if promise.id not in proved] == []


def test_every_mark_names_a_promise() -> None:
    known = {promise.id for promise in PROMISES}
    unknown = [f"{mark.place}: {mark.id}" for mark in marks_of_all_tests() if mark.id not in known]
    assert unknown == []


def test_every_mark_is_carried_by_a_test() -> None:
    assert [mark.place for mark in marks_of_all_tests() if not mark.is_on_a_test] == []


def test_marks_are_found_on_functions_classes_modules_and_parameters() -> None:
    source = """
import pytest
pytestmark = [pytest.mark.promise("module")]

@pytest.mark.promise("function")
async def test_function(): ...

@pytest.mark.promise("class")
class TestClass: ...

@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.promise("parameter"))])
def test_parameter(x): ...
"""
    assert sorted(mark.id or "" for mark in marks_in(source, "f") if mark.is_on_a_test) == [
        "class",
        "function",
        "module",
        "parameter",
    ]


def test_marks_on_helpers_and_computed_ids_do_not_count() -> None:
    source = """
import pytest

@pytest.mark.promise("helper")
def helper(): ...

@pytest.mark.promise(NAME)
def test_computed(): ...
"""
    assert list(marks_in(source, "f")) == [
        Mark("helper", "f:4", is_on_a_test=False),
        Mark(None, "f:7", is_on_a_test=True),
    ]
