"""What toolcrib promises of gates, limits and batches; see `requirements.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tests.promise import Promise

LIMITS: Final[tuple[Promise, ...]] = ()
