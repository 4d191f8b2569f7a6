"""Which forms of a word meet."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_registry.stems import stem


@pytest.mark.parametrize(
    "forms",
    [
        "book books booked booking",
        "create creates created creating",
        "query queries queried querying",
        "plan plans planned planning",
        "exceed exceeds exceeded exceeding",
        "process processed processing",
        "address addressed addressing",
        "feed feeds feeding",
        "schedule schedules scheduled scheduling",
    ],
)
def test_the_forms_of_a_word_meet(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize("pair", ["string str", "user use", "station state", "bus bu", "us u"])
def test_different_words_stay_apart(pair: str) -> None:
    one, other = pair.split()
    assert stem(one) != stem(other)


@pytest.mark.parametrize("word", ["天气", "über", "жук", "as", "s", "", "2026", "is", "ing", "ed"])
def test_other_scripts_and_short_words_stay_as_they_are(word: str) -> None:
    assert stem(word) == word


@given(st.text())
def test_nothing_is_cut_to_nothing(word: str) -> None:
    assert bool(stem(word)) == bool(word)
