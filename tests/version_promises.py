"""What toolcrib promises of versions and of what changed between them; see `requirements.py`."""

from __future__ import annotations

from typing import Final

from tests.promise import Promise

VERSIONS: Final = (
    Promise(
        "compare-sound",
        "What is called compatible is not contradicted by any value, for input and for output.",
        "issue 5, section 1",
    ),
    Promise(
        "compare-needed",
        "Without any one rule of the comparison, something would be called compatible that is not.",
        "issue 5, section 1",
    ),
    Promise(
        "compare-input",
        "Taking less than before is major for callers, taking more is minor; for results it is the "
        "other way round. The same said in another way is a patch.",
        "issue 5, section 1",
    ),
    Promise(
        "compare-unknown",
        "What cannot be decided is `unknown`, or shown by an example; it is never compatible.",
        "issue 5, section 1",
    ),
    Promise(
        "compare-collapse",
        "A schema that lost all its arguments is told as a fault.",
        "issue 5, section 1",
    ),
    Promise(
        "compare-defaults",
        "A default that moved is major, one that is told now is minor.",
        "issue 5, section 1",
    ),
    Promise(
        "compare-behaviour",
        "A call that may do more than before is a major change, even if every call still fits.",
        "issue 5, section 1",
    ),
    Promise(
        "compare-parts",
        "Errors, idempotency keys, limits, texts and the promised form of results have levels.",
        "issue 5, section 1",
    ),
    Promise(
        "versions-by-comparison",
        "What changed decides about the next version: patch, minor, major; callers of an old "
        "version that the new one serves are served on.",
        "issue 5, section 2",
    ),
    Promise(
        "versions-declared",
        "A declared version that rises less than the change needs is refused with the reasons.",
        "issue 5, section 2",
    ),
)
