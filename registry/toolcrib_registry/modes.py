"""Whether an endpoint lists its tools natively or shows the meta-tools instead.

A few tools are cheapest as they are; many would fill a model's context before it has read the task.
`auto` decides by what the definitions cost, with room between the two bounds so that a tool more or
less does not turn the list around. Pure; what a definition costs is told by the surface.
"""

from __future__ import annotations

from typing import Final

from toolcrib_registry.records import EndpointMode

FULL_TOKENS: Final = 6_000
"""`auto` lists all tools natively once their definitions cost at most this: 3 % of 200,000."""
MOST_FULL_TOKENS: Final = 10_000
"""`auto` goes back to the meta-tools once they cost more than this: 5 % of 200,000."""


def settled_mode(tokens: int, before: EndpointMode | None) -> EndpointMode:
    """What `auto` comes to: `dynamic` or `full`.

    Args:
        tokens: what all definitions cost; counting may stop beyond `MOST_FULL_TOKENS`.
        before: what was decided last, or None.
    """
    bound = MOST_FULL_TOKENS if before is EndpointMode.FULL else FULL_TOKENS
    return EndpointMode.FULL if tokens <= bound else EndpointMode.DYNAMIC
