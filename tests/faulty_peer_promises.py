"""What toolcrib promises when a source or a client is at fault; see `requirements.py`."""

from __future__ import annotations

from typing import Final

from tests.promise import Promise

FAULTY_PEERS: Final = (
    Promise(
        "sources-not-numbers",
        "NaN and infinities in an answer become null and are named in `_meta`, whoever called; "
        "nothing but that one answer is touched.",
        "issue 3, section 2",
    ),
    Promise(
        "sources-deep-answers",
        "An answer nested deeper than clients read fails its own call and no other.",
        "issue 3, section 2",
    ),
    Promise(
        "sources-odd-entries-alone",
        "An entry of a list that holds NaN is quarantined alone; so is one that is nested too "
        "deeply, in the list of a server process.",
        "issue 2, section 4",
    ),
    Promise(
        "stdio-lines-answered",
        "A line on standard input that is no message, or whose id is none, is answered with an "
        "error instead of silence.",
        "issue 3, section 2",
    ),
    Promise(
        "stdio-capacity",
        "At most 100 requests of a connection on standard streams or the crib's socket run at "
        "once; more are refused by their ids.",
        "issue 3, section 2",
    ),
    Promise(
        "interaction-endless",
        "A tool that asks its caller again and again is stopped, whichever generations meet.",
        "issue 3, section 2",
    ),
)
