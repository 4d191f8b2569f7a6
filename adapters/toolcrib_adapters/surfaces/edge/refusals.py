"""How the edge turns a request away: one shape for clients, one line in the log, one count.

The body is a JSON-RPC error, which clients show to people; the text names the setting that would
let the request in. Decides nothing about requests.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.types import Receive, Scope, Send

_log = logging.getLogger(__name__)

INVALID_REQUEST: Final = -32600
_MOST_LOGGED: Final = 200
"""So many different refusals are logged, each once: a scanner must not fill the disk."""
_LONGEST_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is turned away.

    Attributes:
        reason: one of a fixed set of words, for counting.
        status: the HTTP status.
        text: what is wrong, with the value, and what would mend it.
        headers: more headers of the response.
        request_id: the id of the JSON-RPC request, where it is known.
    """

    reason: str
    status: int
    text: str
    headers: Mapping[str, str] = field(default_factory=dict)
    request_id: str | int | None = None


def shown(value: str) -> str:
    """A value of a stranger, fit for a log line and a message."""
    return repr(value if len(value) <= _LONGEST_SHOWN else f"{value[:_LONGEST_SHOWN]}...")


def error_body(text: str, request_id: str | int | None = None) -> bytes:
    """A JSON-RPC error."""
    error = {"code": INVALID_REQUEST, "message": text}
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}).encode()


class Refusals:
    """Answers, logs and counts what is turned away."""

    def __init__(self, counted: Callable[[str], None] | None = None) -> None:
        """Refusals of one endpoint.

        Args:
            counted: told the reason of each.
        """
        self._counted = counted
        self._logged: set[str] = set()

    async def answer(self, refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
        """Turn the request away."""
        if self._counted is not None:
            self._counted(refusal.reason)
        if refusal.text not in self._logged and len(self._logged) < _MOST_LOGGED:
            self._logged.add(refusal.text)
            _log.warning("refused a request with HTTP %d: %s", refusal.status, refusal.text)
        response = Response(
            error_body(refusal.text, refusal.request_id),
            refusal.status,
            dict(refusal.headers),
            "application/json",
        )
        await response(scope, receive, send)
