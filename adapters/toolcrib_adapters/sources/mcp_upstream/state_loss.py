"""Whether an upstream forgot what its callers had made there, and that they are told once.

A server keeps things for its callers between calls: an open page, a working folder, a login. A new
process, or a new session, has none of it. The first result after such a loss carries a flag, so
that nobody builds on what is gone; a source that nobody has called yet has nothing to lose.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.call_meta import STATE_RESET_META

if TYPE_CHECKING:
    from toolcrib_adapters.sources.mcp_upstream.spec import HttpSpec, StdioSpec
    from toolcrib_adapters.sources.mcp_upstream.wire import Wire
    from toolcrib_protocol.errors import ToolError
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.result import Result

STATE_RESET_DETAIL: Final = "state_reset"


class StateLoss:
    """What one line to an upstream knows of the state behind it."""

    def __init__(self, *, is_lost: bool = False) -> None:
        self._was_called = False
        self._is_lost = is_lost

    def called(self) -> None:
        """A call left: from now on there may be something to lose."""
        self._was_called = True

    def lost(self) -> None:
        """The process or the session is gone."""
        if self._was_called:
            self._was_called, self._is_lost = False, True

    @property
    def is_lost(self) -> bool:
        """Whether the next caller has to be told."""
        return self._is_lost

    def flagged(self, result: Result) -> Result:
        """The result, with the flag if it is the first one after a loss."""
        if not self._is_lost:
            return result
        self._is_lost = False
        return replace(result, meta={**result.meta, STATE_RESET_META: True})

    def flagged_failure(self, error: ToolError) -> ToolError:
        """The same for a failure: the flag stays for the first result."""
        if self._is_lost:
            told: JsonObject = {**error.details, STATE_RESET_DETAIL: True}
            error.details = told
        return error


def keeps_state(spec: StdioSpec | HttpSpec, wire: Wire) -> bool:
    """Whether a server may keep something for this connection."""
    # At an address it does if it named a session; those of 2026-07-28 never do.
    return spec.transport != "http" or wire.has_session
