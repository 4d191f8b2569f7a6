"""What toolcrib promises of how upstreams live, fail and come back; see `requirements.py`."""

from __future__ import annotations

from typing import Final

from tests.promise import Promise

_ISSUE: Final = "issue 4, section 1"

UPSTREAM_LIFE: Final[tuple[Promise, ...]] = (
    Promise(
        "field-o20-left-over-processes",
        "A server behind a wrapper with a child leaves nothing after twenty reconnects, after its "
        "crib was killed, and after the next start.",
        "field case O-20",
    ),
    Promise(
        "life-no-orphans",
        "A crib that is killed leaves no process and no temporary folder: a guardian ends them, "
        "or the next start does; what another living crib started is left alone.",
        _ISSUE,
    ),
    Promise(
        "life-sweep-is-sure",
        "The sweep ends only groups whose recorded owner is dead and whose start time, or that of "
        "a recorded member, still matches.",
        _ISSUE,
    ),
)
HTTP_WEATHER: Final[tuple[Promise, ...]] = (
    Promise(
        "http-connections",
        "Requests to servers of 2026-07-28 share kept connections; what ends, breaks or is given "
        "up on one of them harms no other, and what is no HTTP answer is told.",
        "issue 4, section 1",
    ),
)
