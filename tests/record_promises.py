"""What toolcrib promises of records of calls, capture and retention; see `requirements.py`."""

from __future__ import annotations

from typing import Final

from tests.promise import Promise

CALL_RECORDS: Final[tuple[Promise, ...]] = (
    Promise(
        "call-record",
        "Every call leaves one record: caller, tool, version, digests and sizes, repairs, "
        "attempts, outcome, times; neither its arguments nor its result. Its id is in `_meta`.",
        "issue 4, section 3",
    ),
    Promise(
        "call-record-refused",
        "Calls that are refused (unknown tool, arguments that do not fit) are recorded, too.",
        "issue 4, section 3",
    ),
    Promise(
        "call-record-cancelled",
        "A call whose caller went away is recorded as cancelled, with the attempts until then.",
        "issue 4, section 3",
    ),
    Promise(
        "call-record-waits",
        "A record says how long the call waited in queues and between attempts, and how long its "
        "source took.",
        "issue 4, section 3",
    ),
    Promise(
        "call-record-background",
        "Records are written in the background within a second, and what is left at the end.",
        "issue 4, section 3",
    ),
    Promise(
        "call-record-drops",
        "A store that cannot keep up costs records, which are counted and told, and no call.",
        "issue 4, section 3",
    ),
    Promise(
        "call-record-stores",
        "Records are found by tool, source, status, caller and time, newest first, by every "
        "process; a batch that is written twice is there once.",
        "issue 4, section 3",
    ),
    Promise(
        "capture-opt-in",
        "Where a rule says so, a call's arguments as received and as sent and its answer as it "
        "came and as it was delivered are kept, sealed.",
        "issue 4, section 3",
    ),
    Promise(
        "capture-session",
        "A debug session captures for some minutes and ends by itself; a rule that says no wins.",
        "issue 4, section 3",
    ),
    Promise(
        "capture-redacts",
        "What looks like a secret, by name, by schema or by form, is taken out before anything is "
        "kept, and it is said where.",
        "issue 4, section 3",
    ),
    Promise(
        "capture-bounded",
        "What is captured is cut to a size.",
        "issue 4, section 3",
    ),
    Promise(
        "cli-calls",
        "`toolcrib calls` lists records by tool, source, status, caller and time, `show` tells the "
        "path of one call with times, `stats` sums up.",
        "issue 4, section 3",
    ),
    Promise(
        "cli-calls-follow",
        "`toolcrib calls --follow` prints calls of every process as they end.",
        "issue 4, section 3",
    ),
    Promise(
        "cli-call-explain",
        "`toolcrib call --explain` prints the path of the call beside its result.",
        "issue 4, section 3",
    ),
    Promise(
        "cli-capture",
        "`toolcrib capture start` captures for some minutes, `calls show ID --raw` shows it; in "
        "the database it is sealed.",
        "issue 4, section 3",
    ),
    Promise(
        "retention-every-table",
        "Every table of the database has a rule for how long its rows live.",
        "issue 4, section 3",
    ),
    Promise(
        "retention-vacuum",
        "Records, captures and kept results that are old enough are taken out, a few rows at a "
        "time; `toolcrib vacuum --dry-run` says what would go.",
        "issue 4, section 3",
    ),
    Promise(
        "retention-one-at-a-time",
        "One process sweeps a database at a time; another takes over from one that died.",
        "issue 4, section 3",
    ),
    Promise(
        "retention-shrinks",
        "SQLite's file gives the room back.",
        "issue 4, section 3",
    ),
    Promise(
        "keys-count-what-is-sealed",
        "A rotation after which something stored could not be opened any more is refused without "
        "`--force`, and says how much that is.",
        "issue 4, section 3",
    ),
    Promise(
        "metrics-attempts",
        "Metrics count how often each source was asked, repetitions included, and the records of "
        "calls that were dropped.",
        "issue 4, section 3",
    ),
    Promise(
        "call-record-kill",
        "A crib that is killed with SIGKILL loses at most the records of its last second.",
        "issue 4, section 3",
    ),
)
