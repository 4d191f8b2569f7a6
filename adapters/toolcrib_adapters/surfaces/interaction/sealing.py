"""Seals what a client of 2026-07-28 has to bring back with its answers.

The SDK's boundary binds it to the method, the tool, the arguments, the caller and a time; this file
gives it the keys of a ring that all replicas share, and words for what it refuses. Sealed text can
be read and changed by nobody else, so any replica can go on where another one asked.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from mcp.server.request_state import (
    AESGCMRequestStateCodec,
    InvalidRequestState,
    RequestStateBoundary,
    RequestStateSecurity,
)
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

    Keys = Callable[[], tuple[bytes, ...]]
    """The keys as they are now: the first one seals, all of them open."""

STATE_SECONDS: Final = 600.0
"""How long an answer may take."""
_AUDIENCE: Final = "toolcrib"
_REFUSED: Final = "invalid_request_state"
_REFUSAL: Final = (
    "this answer does not belong to a question of this call: it came too late, or the tool or its "
    "arguments were changed, or its requestState was changed or sealed by a crib with other keys. "
    "Call the tool again without requestState and inputResponses"
)


class Seal:
    """A codec of the SDK over keys that may be rotated while it is in use."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._known: tuple[bytes, ...] = ()
        self._codec: AESGCMRequestStateCodec | None = None

    def seal(self, payload: bytes) -> str:
        """`payload` as text that only a holder of the keys can read or make."""
        return self._current().seal(payload)

    def unseal(self, token: str) -> bytes:
        """What was sealed.

        Raises:
            InvalidRequestState: not by these keys, or changed since.
        """
        return self._current().unseal(token)

    def _current(self) -> AESGCMRequestStateCodec:
        keys = self._keys()
        if self._codec is None or keys != self._known:
            self._known, self._codec = keys, AESGCMRequestStateCodec(keys)
        return self._codec


class SealedState:
    """Middleware: the SDK's boundary, with a lesson in its refusals."""

    def __init__(self, seal: Seal, *, seconds: float = STATE_SECONDS) -> None:
        security = RequestStateSecurity(codec=seal, ttl=seconds)
        self._boundary = RequestStateBoundary(security, default_audience=_AUDIENCE)

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Open what came back, and seal what goes out."""
        with _explained():
            return await self._boundary(ctx, call_next)


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except MCPError as error:
        if not isinstance(error.data, dict) or error.data.get("reason") != _REFUSED:
            raise
        raise MCPError(INVALID_PARAMS, _REFUSAL, error.data) from error


__all__ = ["STATE_SECONDS", "InvalidRequestState", "Seal", "SealedState"]
