"""What a client is told about an endpoint before its first question.

The endpoint of a group repeats what its source says; the others say how to find and call tools in
their present mode. An endpoint without tools says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_registry.records import EndpointMode

if TYPE_CHECKING:
    from toolcrib_adapters.surfaces.endpoint_tools import EndpointTools

_AFTER_FAILURE: Final = (
    "If a call fails, first check the arguments against the returned schema, then look at `kind` "
    "before retrying (retryable: try again; fatal: change the call; needs_human: ask). Facts come "
    "only from results."
)
_DYNAMIC: Final = (
    "Many tools stand behind these. Find tools with search_tools, read a full schema with "
    "describe_tools if the signature is not enough, run them with call_tool. " + _AFTER_FAILURE
)


def instructions_of(tools: EndpointTools) -> str | None:
    """The instructions as they are now; None if there is nothing to say."""
    shown = tools.shown()
    if tools.endpoint.is_group:
        group = shown.sight.snapshot.groups.get(tools.endpoint.name)
        told = (group.description or group.title) if group is not None else ""
        return "\n".join(part for part in (told, shown.why_empty) if part) or None
    is_full = tools.mode is EndpointMode.FULL and shown.sight.heads
    return _AFTER_FAILURE if is_full else _DYNAMIC
