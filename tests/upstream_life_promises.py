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
        "field-o19-state-reset",
        "After a restart of its server a source works again; the first result says that state was "
        "lost, the next one does not.",
        "field case O-19",
    ),
    Promise(
        "life-lazy",
        "A lazy source whose tools are known starts at its first call, once for all who call; one "
        "that is not known, or was used lately, starts at once.",
        _ISSUE,
    ),
    Promise(
        "life-idle",
        "A source that nobody has called for as long as its settings say has no process until the "
        "next call; one that is at work is not idle.",
        _ISSUE,
    ),
    Promise(
        "life-ceiling",
        "A crib never runs more processes than it may: the one that has been idle for the longest "
        "makes room, and who finds all at work waits and is then told when to come back.",
        _ISSUE,
    ),
    Promise(
        "life-affinity",
        "What a server keeps between calls is shared by all, or by the calls of one caller, or by "
        "none, as the settings of its source say; own connections are bounded.",
        _ISSUE,
    ),
    Promise(
        "life-state-reset",
        "The first result after a lost process or session of a source that had been called says "
        "so in its `_meta`.",
        _ISSUE,
    ),
    Promise(
        "field-o17-upstream-dies",
        "A server that exits, falls silent, closes its output or ends before it agreed fails its "
        "calls at once, or at their deadline, and works again after the back-off.",
        "field case O-17",
    ),
    Promise(
        "field-o18-one-breaks-alone",
        "When a connection breaks under twenty callers each of them gets its own classified "
        "answer, nobody is cancelled, and a new connection serves.",
        "field case O-18",
    ),
    Promise(
        "life-classified",
        "Crash, hang, closed output, and an end before the first answer are told apart from "
        "refusals, with what is known of whether the call left.",
        _ISSUE,
    ),
    Promise(
        "life-serves-again",
        "A server that is killed serves again after a first pause of a tenth of a second at most.",
        "issue 4, section 4",
    ),
    Promise(
        "life-busy-is-no-hang",
        "A server that works at one long call and answers nothing else meanwhile is left alone "
        "when another call times out.",
        _ISSUE,
    ),
    Promise(
        "life-chaos",
        "Twenty random kill, hang and close faults while fifty callers run: every call ends "
        "classified by its deadline, all sources serve again, no process and no task is left.",
        _ISSUE,
    ),
    Promise(
        "life-level",
        "Reconnects leave no descriptor, no task and no memory behind.",
        _ISSUE,
    ),
    Promise(
        "life-known-dead",
        "A call to a source that is known to be dead fails at once, without having left, and says "
        "when the source is tried again.",
        _ISSUE,
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
        "http-failures-told",
        "A failed answer over HTTP is told as what it is, with its status, how long it asks to "
        "wait (seconds or a moment, at most a day), and whether the call may have left; it fails "
        "its own call only.",
        _ISSUE,
    ),
    Promise(
        "field-o18-broken-connection",
        "A connection that is reset during one of many calls fails that call only, over HTTP of "
        "both generations.",
        "field case O-18",
    ),
    Promise(
        "field-o19-lost-session",
        "A call over a session that a server has forgotten, in whatever words it says so, is made "
        "again over a new one after the list was read again; its result says that state was lost, "
        "and no later one does.",
        "field case O-19",
    ),
    Promise(
        "http-connections",
        "Requests to servers of 2026-07-28 share kept connections; what ends, breaks or is given "
        "up on one of them harms no other, and what is no HTTP answer is told.",
        _ISSUE,
    ),
)
