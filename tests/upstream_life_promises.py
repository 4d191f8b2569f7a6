"""What toolcrib promises of how upstreams live, fail and come back; see `requirements.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tests.promise import Promise

UPSTREAM_LIFE: Final[tuple[Promise, ...]] = ()
HTTP_WEATHER: Final[tuple[Promise, ...]] = ()
