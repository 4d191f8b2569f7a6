"""Lists sent in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolcrib_adapters.surfaces.pages import StaleCursorError, page

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject

ITEMS: list[JsonObject] = [{"name": str(number)} for number in range(5)]


def test_pages_follow_each_other_to_the_end() -> None:
    collected, cursor = page(ITEMS, "v1", None, size=2)
    while cursor is not None:
        shown, cursor = page(ITEMS, "v1", cursor, size=2)
        collected += shown
    assert collected == ITEMS


def test_a_list_that_fits_has_no_cursor() -> None:
    assert page(ITEMS, "v1", None) == (ITEMS, None)


def test_a_cursor_of_another_list_is_stale() -> None:
    _, cursor = page(ITEMS, "v1", None, size=2)
    with pytest.raises(StaleCursorError):
        page(ITEMS, "v2", cursor, size=2)


@pytest.mark.parametrize("cursor", ["", "!", "bm9uc2Vuc2U=", "bm9uc2Vuc2U6MQ==", "é", "/w=="])
def test_what_is_no_cursor_is_stale(cursor: str) -> None:
    with pytest.raises(StaleCursorError):
        page(ITEMS, "v1", cursor)
