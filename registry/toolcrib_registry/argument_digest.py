"""What tells the calls of one tool apart: a digest of their arguments.

Never a key: two equal calls may both be meant. The ledger compares it to find a key that is used
for two different calls; the repeat guard and the cache find the same call by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_protocol.schema import fingerprint
from toolcrib_registry.idempotency_keys import without_key_argument

if TYPE_CHECKING:
    from toolcrib_registry.work import Work


def argument_digest(work: Work) -> str:
    """The digest of the arguments that a call came with, repaired; its key is not one of them.

    Raises:
        ToolError: `invalid_json` if they cannot be written.
    """
    trail = work.trail
    if not trail.digest:
        # Made once for all stages: what is changed further in (mended) is the same call.
        trail.digest = fingerprint(without_key_argument(work))
    return trail.digest
