"""What toolcrib promises of gates, limits and batches; see `requirements.py`."""

from __future__ import annotations

from typing import Final

from tests.promise import Promise

LIMITS: Final[tuple[Promise, ...]] = (
    Promise(
        "gate-cap",
        "At most so many calls run at once as are set for their tool, group and source (eight of a "
        "source if nothing is set), the stricter of contract and rules; the others wait in line.",
        "issue 4, section 2",
    ),
    Promise(
        "field-o33-slow-tools",
        "Of fifty calls to a tool with four places and a queue of ten, four run, ten wait and "
        "36 are told at once when to come back; a fast call is not delayed by them.",
        "field case O-33",
    ),
    Promise(
        "list-costs-the-maximum",
        "The calls of a list run at the same time, their results keep its order and are not "
        "mixed, and one that is refused takes no other down.",
        "issue 4, section 2",
    ),
    Promise(
        "gate-when-full",
        "At a full gate calls wait or are refused at once, as rules say.",
        "issue 4, section 2",
    ),
    Promise(
        "gate-deadline",
        "A call waits no longer than it may take, its waiting counts, and a call that did not get "
        "through was not sent.",
        "issue 4, section 2",
    ),
    Promise(
        "gate-cancelled",
        "A call that is cancelled, before a gate or behind it, leaves its place to the next.",
        "issue 4, section 2",
    ),
    Promise(
        "retry-holds-no-place",
        "A call that waits between two attempts holds no place in any gate.",
        "issue 4, section 2",
    ),
    Promise("gate-fair", "Callers that wait at one gate take turns.", "issue 4, section 2"),
    Promise(
        "gate-rate",
        "Calls beyond the burst begin at the rate that is set, in order; whoever could not begin "
        "in time hears at once when to come back.",
        "issue 4, section 2",
    ),
    Promise(
        "gate-adapts",
        "A 429 or 503 halves what runs at once at a source, once for all calls that were under "
        "way; successes raise it slowly to what is set.",
        "issue 4, section 2",
    ),
    Promise(
        "gate-retry-after",
        "Nothing leaves for a source before it said that it wants to be asked again.",
        "issue 4, section 2",
    ),
    Promise(
        "shared-cap",
        "A cap that a rule or contract sets holds exactly over all processes of a home, and a "
        "process that goes without gets its share as calls end, and what is idle soon.",
        "issue 4, section 2",
    ),
    Promise(
        "shared-rate",
        "A rate that a rule or contract sets holds for all processes of a home together.",
        "issue 4, section 2",
    ),
    Promise(
        "shared-dead",
        "What a killed process held is free when its lease has ended, not earlier.",
        "issue 4, section 2",
    ),
    Promise(
        "shared-plain",
        "A call to a tool for which nothing was set asks no store about limits.",
        "issue 4, section 2",
    ),
    Promise(
        "limits-board",
        "How the gates of a running crib stand can be read by other processes until it ends.",
        "issue 4, section 2",
    ),
    Promise(
        "cli-limits",
        "`toolcrib limits` shows how the gates of running cribs stand and why, from any process.",
        "issue 4, section 2",
    ),
    Promise(
        "limits-suggest",
        "`toolcrib limits suggest` works rules out of what sources refused, with 20 % left free, "
        "and sets them on demand.",
        "issue 4, section 2",
    ),
    Promise(
        "batch-merges",
        "Calls of one tool and caller that wait in one gate are made as one call where the "
        "contract declares a batch form; each gets its own result, and `_meta` says so.",
        "issue 4, section 2",
    ),
    Promise(
        "batch-allowed",
        "Calls are made together only if the batch tool does no more than the tool, the caller "
        "may use it, and none carries an idempotency key.",
        "issue 4, section 2",
    ),
    Promise(
        "batch-errors",
        "An item of a batch fails alone; if a batch as a whole has no usable answer, calls that "
        "only read are made one by one, and of the others the outcome is unknown.",
        "issue 4, section 2",
    ),
)
