"""When `auto` lists all tools natively, and when it turns around."""

from __future__ import annotations

import pytest

from toolcrib_registry.modes import FULL_TOKENS, MOST_FULL_TOKENS, settled_mode
from toolcrib_registry.records import EndpointMode

DYNAMIC, FULL = EndpointMode.DYNAMIC, EndpointMode.FULL


@pytest.mark.promise("endpoint-auto-mode")
@pytest.mark.parametrize(
    ("tokens", "before", "after"),
    [
        (0, None, FULL),
        (FULL_TOKENS, None, FULL),
        (FULL_TOKENS + 1, None, DYNAMIC),
        (FULL_TOKENS + 1, DYNAMIC, DYNAMIC),
        (FULL_TOKENS + 1, FULL, FULL),
        (MOST_FULL_TOKENS, FULL, FULL),
        (MOST_FULL_TOKENS + 1, FULL, DYNAMIC),
        (MOST_FULL_TOKENS, DYNAMIC, DYNAMIC),
        (FULL_TOKENS, DYNAMIC, FULL),
    ],
)
def test_a_tool_more_or_less_between_the_bounds_does_not_turn_the_list_around(
    tokens: int, before: EndpointMode | None, after: EndpointMode
) -> None:
    assert settled_mode(tokens, before) is after
