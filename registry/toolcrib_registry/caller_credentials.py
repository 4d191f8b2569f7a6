"""What of a caller's own goes up to a source: who brings something else is somebody else.

Callers that are one and the same to the policy may bring different credentials in the headers of
their requests; nothing that one of them was answered may be told to another. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from toolcrib_registry.call import Call
    from toolcrib_registry.records import SourceRecord

_FORWARDED: Final = "forward_headers"
Credentials: TypeAlias = tuple[str | None, ...]


def credentials_of(call: Call, source: SourceRecord | None) -> Credentials:
    """The values of the headers that `source` gets of the caller's request; for comparing only."""
    forwarded = source.spec.get(_FORWARDED) if source is not None else None
    if not isinstance(forwarded, dict):
        return ()
    return tuple(call.caller_headers.get(name.lower()) for name in sorted(forwarded))
