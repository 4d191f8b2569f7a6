"""Who may see and call what: the one decision every path asks for.

The local policy allows everything; rules for many callers are another implementation of `Policy`.
Nothing else in toolcrib compares callers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from toolcrib_protocol.names import ToolId


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks.

    `id` is the principal that an authentication established, never a name a client claims.
    """

    id: str


LOCAL_CALLER: Final = Caller("local")
"""Whoever can reach this crib without signing in: the person who runs it."""


class Policy(Protocol):
    """A rule that says what a caller may use."""

    def allows(self, caller: Caller, tool: ToolId) -> bool:
        """Whether `caller` may see and call `tool`."""
        ...


class AllowAll:
    """The policy of a crib that serves its own user."""

    def allows(self, caller: Caller, tool: ToolId) -> bool:  # noqa: ARG002 - the port's signature
        """True."""
        return True
