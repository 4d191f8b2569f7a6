"""What a home remembers of its sources decides who waits for a first call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolcrib_adapters.sources.habits import FILE, Habits
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.records import SourceKind, SourceRecord

if TYPE_CHECKING:
    from pathlib import Path

RECORD = SourceRecord("up", SourceKind.MCP, {"command": "server"}, "up")
DAY = 24 * 3600.0


@pytest.mark.promise("life-lazy")
def test_a_source_is_known_with_the_settings_with_which_it_was_listed(tmp_path: Path) -> None:
    habits = Habits(tmp_path, HandClock())
    assert not habits.is_known(RECORD)
    habits.listed(RECORD)
    habits.save()
    again = Habits(tmp_path, HandClock())
    assert again.is_known(RECORD)
    assert not again.is_known(SourceRecord("up", SourceKind.MCP, {"command": "other"}, "up"))
    assert not again.is_known(SourceRecord("down", SourceKind.MCP, RECORD.spec, "up"))


@pytest.mark.promise("life-lazy")
def test_a_source_is_hot_for_three_days_after_its_last_call(tmp_path: Path) -> None:
    clock = HandClock()
    habits = Habits(tmp_path, clock)
    assert not habits.is_hot("up")
    habits.used("up")
    habits.save()
    clock.advance(2 * DAY)
    assert Habits(tmp_path, clock).is_hot("up")
    clock.advance(2 * DAY)
    assert not Habits(tmp_path, clock).is_hot("up")


def test_what_two_cribs_of_one_home_remember_is_put_together(tmp_path: Path) -> None:
    clock = HandClock()
    one, two = Habits(tmp_path, clock), Habits(tmp_path, clock)
    one.used("a")
    two.used("b")
    one.save()
    two.save()
    both = Habits(tmp_path, clock)
    assert (both.is_hot("a"), both.is_hot("b")) == (True, True)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"up": 1}', '{"up": {"used": "never"}}', "\x00"])
def test_a_file_that_cannot_be_read_is_no_memory(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    habits = Habits(tmp_path, HandClock())
    assert not habits.is_known(RECORD)
    habits.listed(RECORD)
    habits.save()
    assert Habits(tmp_path, HandClock()).is_known(RECORD)


def test_a_home_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    habits = Habits(tmp_path / "missing", HandClock())
    habits.used("up")
    habits.save()
    assert habits.is_hot("up")
    Habits(None, HandClock()).save()
