"""What every kind of source looks like to the supervisor that runs it.

One file or package a kind implements `Source`; `supervisor.py` opens, runs and ends them. A source
knows nothing of the catalogue: it reports its state and what it lists to its host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from toolcrib_protocol.errors import NOT_OFFERED, ToolError
from toolcrib_registry.ports import Provider

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.listing import Listing
    from toolcrib_registry.notices import Notice
    from toolcrib_registry.ports import CallContext, SourceState


class SourceHost(Protocol):
    """Whom a source tells what happens to it."""

    async def report(self, state: SourceState) -> None:
        """The source is in this state now."""
        ...

    async def listed(self, listing: Listing) -> None:
        """The source offers exactly this now; returns when the catalogue has it."""
        ...

    def noticed(self, notice: Notice) -> None:
        """The source told this on its own."""
        ...

    def used(self) -> None:
        """Somebody called it."""
        ...

    def is_known(self) -> bool:
        """Whether the catalogue has what the source listed last, with the same settings."""
        ...

    def is_hot(self) -> bool:
        """Whether the source is used so often that it should not wait for its first call."""
        ...


class Source(Provider, Protocol):
    """A source that runs in this process."""

    async def run(self, host: SourceHost) -> None:
        """Connect, list, serve calls, reconnect; returns only when cancelled.

        Everything the source opened (connections, processes, tasks) is closed before this returns.
        A fault of the source is reported to the host and never raised.
        """
        ...

    async def look_again(self) -> None:
        """Ask for the list anew, or connect at once; returns when it is there or cannot be had.

        What became of it is told to the host, as always. Whoever waits sets the limit.
        """
        ...


class ToolsOnly:
    """What a source without resources, prompts and the like says to those who ask for them."""

    def capabilities(self) -> JsonObject:
        """Nothing besides tools."""
        return {}

    async def request(
        self,
        method: str,
        params: JsonObject,  # noqa: ARG002 - the port's signature
        context: CallContext,  # noqa: ARG002 - the port's signature
    ) -> JsonObject:
        """Refuse.

        Raises:
            ToolError: `not_offered`.
        """
        raise not_offered("this kind of source", method)


def not_offered(source: str, method: str) -> ToolError:
    """The error of a request that a source does not know."""
    part = method.partition("/")[0]
    return ToolError(NOT_OFFERED, f"{source} offers no {part}: {method!r} is not answered")
