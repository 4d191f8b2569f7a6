"""What a server means by `Retry-After`: seconds, or a moment. Used where HTTP failures are read."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST_SECONDS: Final = 86_400.0
"""Whoever asks for more is not waited for anyway."""
_MOST_DIGITS: Final = 12


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """How long an answer asks to wait; None if it does not say, or nothing that can be read.

    Args:
        headers: of the answer; the names in lower case.
    """
    written = headers.get("retry-after", "").strip()
    if written.isascii() and written.isdigit():
        return min(float(written[:_MOST_DIGITS]), LONGEST_SECONDS)
    moment = _moment(written)
    if moment is None:
        return None
    # By the server's own clock, where it tells: ours may go differently.
    now = _moment(headers.get("date", "")) or datetime.now(UTC)
    return min(max(0.0, (moment - now).total_seconds()), LONGEST_SECONDS)


def _moment(written: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(written)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
