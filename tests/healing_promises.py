"""What toolcrib promises of retries, breakers, fallbacks and time limits; see `requirements.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tests.promise import Promise

HEALING: Final[tuple[Promise, ...]] = ()
