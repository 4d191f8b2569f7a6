"""What toolcrib promises of the ledger, the repeat guard and the cache; see `requirements.py`."""

from __future__ import annotations

from typing import Final

from tests.promise import Promise

LEDGER: Final = (
    Promise(
        "ledger-key-travels",
        "An idempotency key reaches the tool where its contract says: argument, header or `_meta`; "
        "a call without one gets a key of its own there, so that the crib may repeat it.",
        "issue 4, section 2",
    ),
    Promise(
        "ledger-odd-keys",
        "A key that cannot be one (empty, too long, with control characters, not ASCII in a "
        "header) is refused before anything is called.",
        "issue 4, section 2",
    ),
    Promise(
        "ledger-intent-first",
        "What is not declared to only read is written down durably before it is sent; if that "
        "fails, nothing is sent.",
        "issue 4, section 2",
    ),
    Promise(
        "ledger-once-per-key",
        "A call with an idempotency key is carried out once: a second one, in the same process or "
        "another, waits for the first and gets its answer, also after a restart.",
        "issue 4, section 2",
    ),
    Promise(
        "ledger-key-conflict",
        "A key that came with another tool or other arguments is a conflict; keys are each "
        "caller's own, and never made of arguments.",
        "issue 4, section 2",
    ),
    Promise(
        "ledger-failures-not-kept",
        "A failure that had no effect, or that the tool itself told, is not kept: the same call "
        "with the same key may be tried again.",
        "field case O-45",
    ),
    Promise(
        "ledger-lost-stays-unknown",
        "A write whose answer was lost is of unknown outcome, and is not made again with its key, "
        "until a person settles it.",
        "issue 4, section 2",
    ),
    Promise(
        "ledger-known-key-goes-again",
        "A lost write whose key the tool knows may be sent again with that key.",
        "issue 4, section 2",
    ),
    Promise(
        "ledger-dead-owner",
        "What a process was carrying out when it died is of unknown outcome, and told so at once "
        "on the same machine; a living one is never taken for dead while its lease is renewed.",
        "issue 4, section 2",
    ),
    Promise(
        "ledger-answers-sealed",
        "Answers in the ledger are encrypted and bounded; one that is not kept is told to be done, "
        "and is never brought about by calling again.",
        "issue 4, section 2",
    ),
    Promise(
        "field-o45-keys",
        "Same key and same arguments: one write however often it is called; other arguments: a "
        "conflict; lost: `outcome_unknown`, also across restarts.",
        "field case O-45",
    ),
    Promise(
        "repeat-taught",
        "A caller that sends a call again that just failed for good gets a short lesson (what "
        "failed, what to do, arguments that fit) instead of another call of the source.",
        "issue 4, section 2",
    ),
    Promise(
        "repeat-never-blocks",
        "After a lesson the same call goes through; other callers, conversations, arguments and "
        "keys, changes in between, time, a new version, failures that may pass, a fresh wish and "
        "the rule `repeats` let it through at once.",
        "issue 4, section 2",
    ),
    Promise(
        "call-odd-timeouts",
        "A time limit of the caller's own that is no number above 0 is refused before anything is "
        "called.",
        "issue 4, section 3",
    ),
    Promise(
        "repeat-polling",
        "Whoever polls gets no lessons: a failure that says that something is under way is never "
        "held against a call, any other of a tool that only reads for five seconds, unless its "
        "arguments were wrong.",
        "issue 4, section 2",
    ),
    Promise(
        "repeat-streams",
        "All requests on one pair of standard streams are one conversation, in both generations, "
        "through a bridge, too; other streams are others.",
        "issue 4, section 2",
    ),
    Promise(
        "repeat-same-answer",
        "A tool that only reads and is asked a third time in one conversation, within seconds of "
        "the same answer, is answered from memory; whoever waits for a change sees it soon.",
        "issue 4, section 2",
    ),
    Promise(
        "cache-remembers",
        "Answers of tools that only read are remembered for the time that a rule sets, and say how "
        "old they are.",
        "issue 4, section 2",
    ),
    Promise(
        "cache-off-by-default",
        "Nothing is remembered without a rule, or of a tool that is not declared to only read.",
        "issue 4, section 2",
    ),
    Promise(
        "cache-each-callers-own",
        "What one caller saw is shown to another only if a rule says so, and never to one that "
        "brings other credentials.",
        "issue 4, section 2",
    ),
    Promise(
        "field-o42-cache",
        "A remembered answer, made by whoever, is refused to a caller who may not call the tool, "
        "like the tool itself.",
        "field case O-42",
    ),
    Promise(
        "cache-fresh",
        "A caller that asks for a fresh answer gets one, and the crib remembers it.",
        "issue 4, section 2",
    ),
    Promise(
        "cache-never-failures",
        "Failures, questions, tasks, answers a person helped with and what stood in for a tool are "
        "not remembered.",
        "issue 4, section 2",
    ),
    Promise(
        "cache-forgets-with-the-tool",
        "Another version of a tool, or another place of its source, has new answers.",
        "issue 4, section 2",
    ),
    Promise(
        "cache-one-call-for-equal-ones",
        "Equal calls at the same time are one call of the source; who goes away takes the answer "
        "from nobody.",
        "issue 4, section 2",
    ),
    Promise(
        "cache-bounded",
        "What is remembered has a limit in bytes; the least recently used goes first.",
        "issue 4, section 2",
    ),
    Promise(
        "ledger-key-at-every-door",
        "A key comes in `_meta`, in the header `Idempotency-Key`, in `call_tool` and its lists, "
        "from the client and from the command line.",
        "issue 4, section 2",
    ),
    Promise(
        "cli-ledger",
        "`toolcrib ledger` lists calls under way, lost ones and those with a key, and takes the "
        "word of a person about a lost one.",
        "issue 4, section 2",
    ),
)
