"""The estimate of tokens is quick, repeatable and rather high than low."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_protocol.budget import estimate_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("send", 1),
        ("send mail", 2),
        ("internationalisation", 3),
        ("1234567", 3),
        ('{"type": "object"}', 6),
        ('"},{"', 2),
        ("天气预报", 4),
        ("a\n\nb", 3),
        ("é", 1),
    ],
)
def test_words_digits_marks_and_chinese_have_their_cost(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(), st.text())
def test_two_texts_together_cost_about_what_they_cost_alone(a: str, b: str) -> None:
    # Joining can merge or split one piece at the seam, no more.
    assert abs(estimate_tokens(a + b) - estimate_tokens(a) - estimate_tokens(b)) <= 1


@given(st.text())
def test_no_text_costs_more_tokens_than_it_has_characters(text: str) -> None:
    assert 0 <= estimate_tokens(text) <= len(text)
