"""Moments and times as people write and read them: `15m`, `2h`, `2026-12-01`, 12.3 ms."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError

if TYPE_CHECKING:
    from collections.abc import Sequence

_AGO: Final = re.compile(r"([0-9]{1,9})\s*(s|m|h|d)")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def moment(text: str, now: datetime) -> float:
    """The moment that `text` means, in seconds since 1970: so long ago, or a date and time.

    Raises:
        ToolError: `invalid_settings`.
    """
    ago = _AGO.fullmatch(text.strip())
    try:
        if ago is not None:
            return (now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})).timestamp()
        told = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError) as error:
        wrong = f"{text!r} is no moment; write 15m, 2h, 3d or 2026-12-01T14:00"
        raise ToolError(INVALID_SETTINGS, wrong) from error
    # Without a zone it is the time on the wall.
    return (told if told.tzinfo is not None else told.astimezone()).timestamp()


def written_moment(seconds: float) -> str:
    """A moment as a person reads it: in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(sep=" ", timespec="milliseconds")[:-6]


def written_seconds(seconds: float) -> str:
    """How long something took, in a unit that fits."""
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def percentile(sorted_values: Sequence[float], share: float) -> float:
    """The value that `share` of them do not exceed."""
    return sorted_values[min(len(sorted_values) - 1, int(len(sorted_values) * share))]
