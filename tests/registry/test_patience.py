"""Time limits that stand still while a person is asked."""

from __future__ import annotations

from math import inf

import anyio
import pytest

from toolcrib_registry.patience import Patience


@pytest.mark.promise("interaction-patience")
async def test_no_time_passes_while_somebody_is_asked() -> None:
    patience = Patience(30)
    with patience.limit() as limit:
        assert limit.deadline <= anyio.current_time() + 30
        with patience.standing_still():
            assert limit.deadline == inf
            left = patience.left
            with patience.standing_still():
                assert patience.left == left
            assert limit.deadline == inf
        assert limit.deadline >= anyio.current_time() + left - 1
        assert patience.left <= left


async def test_a_limit_that_is_entered_later_has_what_is_left() -> None:
    patience = Patience(-1)
    with patience.limit() as limit:
        await anyio.sleep_forever()
    assert limit.cancelled_caught
    assert patience.left < 0
    assert patience.seconds == -1
