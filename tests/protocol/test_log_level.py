"""Which log messages somebody wants."""

from __future__ import annotations

import pytest

from toolcrib_protocol.log_level import LEVELS, is_at_least


def test_a_level_wants_itself_and_the_graver_ones() -> None:
    assert [level for level in LEVELS if is_at_least(level, "error")] == [
        "error",
        "critical",
        "alert",
        "emergency",
    ]


@pytest.mark.parametrize("level", [*LEVELS, "verbose", None, 7])
def test_no_level_wants_everything(level: object) -> None:
    assert is_at_least(level, None)


def test_a_level_that_mcp_does_not_know_is_the_least() -> None:
    assert is_at_least("verbose", "debug")
    assert not is_at_least("verbose", "info")
