"""What toolcrib promises of the repair of arguments; see `requirements.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tests.promise import Promise

REPAIR: Final[tuple[Promise, ...]] = ()
