"""What toolcrib promises of expressions and kept results; see `requirements.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tests.promise import Promise

HANDLES: Final[tuple[Promise, ...]] = ()
