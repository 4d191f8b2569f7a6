"""What toolcrib promises of the ledger, the repeat guard and the cache; see `requirements.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tests.promise import Promise

LEDGER: Final[tuple[Promise, ...]] = ()
