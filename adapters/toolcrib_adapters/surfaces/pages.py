"""Pages of a list that is sent in parts: opaque cursors that hold as long as the list does.

A cursor names a position and the list it belongs to; once the list has changed it is refused, so
that nobody puts two different lists together. Pure.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

Item = TypeVar("Item")
PAGE_SIZE: Final = 200


class StaleCursorError(Exception):
    """The cursor belongs to no list, or to one that has changed; the caller has to begin again."""


def page(
    items: Sequence[Item], stamp: str, cursor: str | None, size: int = PAGE_SIZE
) -> tuple[list[Item], str | None]:
    """One page, and the cursor of the next one or None.

    Args:
        items: the whole list.
        stamp: what tells this list from others, for example its text.
        cursor: None for the first page.
        size: how many items a page holds.

    Raises:
        StaleCursorError: the cursor is not one of this list.
    """
    digest = hashlib.sha256(stamp.encode()).hexdigest()[:16]
    start = 0 if cursor is None else _position(cursor, digest, len(items))
    end = start + size
    return list(items[start:end]), _cursor(end, digest) if end < len(items) else None


def _cursor(position: int, digest: str) -> str:
    return base64.urlsafe_b64encode(f"{digest}:{position}".encode()).decode()


def _position(cursor: str, digest: str, length: int) -> int:
    try:
        belongs_to, _, position = base64.urlsafe_b64decode(cursor).decode().partition(":")
        start = int(position)
    except (binascii.Error, ValueError) as error:
        raise StaleCursorError from error
    if belongs_to != digest or not 0 < start < length:
        raise StaleCursorError
    return start
