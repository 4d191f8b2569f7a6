"""Which headers of a caller's request go up to a server: those that its settings list.

Nothing else of the caller's hop ever goes up. The credential for this crib cannot be listed, nor
can what belongs to the protocol. Values are one caller's own: they are written down nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from toolcrib_adapters.outbound.addresses import Reach
from toolcrib_adapters.processes.household import Household
from toolcrib_protocol.errors import INVALID_ARGUMENTS, ToolError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolcrib_registry.ports import CallContext

OURS: Final = frozenset({"authorization", "cookie", "proxy-authorization"})
"""Headers by which a caller identifies itself to this crib, or to a proxy before it."""
OF_THE_HOP: Final = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "forwarded",
        "host",
        "keep-alive",
        "last-event-id",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_PROTOCOL: Final = ("mcp-", "x-forwarded-")
_TOKEN: Final = frozenset(
    "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)


def forwarding_problem(wanted: Mapping[str, str]) -> str | None:
    """What is wrong with a `forward_headers` setting, or None."""
    for caller, upstream in wanted.items():
        for name in (caller, upstream):
            if not name or not set(name) <= _TOKEN:
                return f"{name!r} is not the name of a header"
        if caller.lower() in OURS:
            return (
                f"{caller} is the caller's credential for this crib and never goes up; let callers "
                "send the one for the server in a header of its own, for example X-Upstream-Token"
            )
        for name in (caller, upstream):
            if name.lower() in OF_THE_HOP or name.lower().startswith(_PROTOCOL):
                return f"{name} belongs to the connection and cannot be forwarded"
    names = [name.lower() for name in wanted.values()]
    twice = next((name for name in names if names.count(name) > 1), None)
    return None if twice is None else f"two headers would go up as {twice}"


@dataclass(frozen=True, slots=True)
class HttpAccess:
    """How one upstream is reached and run, besides what its settings say.

    Attributes:
        reach: which addresses may be connected to.
        personal: headers of the one caller whom the connection is for.
        household: where its processes are at home.
        is_reopened: whether that caller had a connection before, which was ended.
    """

    reach: Reach = Reach.LOCAL
    personal: Mapping[str, str] = field(default_factory=dict, repr=False)
    household: Household = field(default_factory=Household)
    is_reopened: bool = False


def forwarded(wanted: Mapping[str, str], caller_headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that go up with a request of a caller.

    Args:
        wanted: names at the server, by names of the caller.
        caller_headers: what the caller sent, in lower case.

    Raises:
        ToolError: `invalid_arguments` if a value cannot be sent.
    """
    chosen: dict[str, str] = {}
    for caller, upstream in wanted.items():
        value = caller_headers.get(caller.lower())
        if value is None:
            continue
        if not value.isascii() or not value.isprintable():
            text = f"the header {caller} of the request holds characters that cannot be forwarded"
            raise ToolError(INVALID_ARGUMENTS, text)
        chosen[upstream] = value
    return chosen


def without_headers(context: CallContext) -> CallContext:
    """The same, for a connection that carries the caller's headers already."""
    return replace(context, caller_headers={})
