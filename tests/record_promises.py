"""What toolcrib promises of records of calls, capture and retention; see `requirements.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tests.promise import Promise

CALL_RECORDS: Final[tuple[Promise, ...]] = ()
