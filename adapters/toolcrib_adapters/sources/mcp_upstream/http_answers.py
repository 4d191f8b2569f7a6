"""The HTTP status behind a failed request. The SDK turns 401, 429 and 500 into one and the same error; what they tell
a caller (sign in; come back in so many seconds; broken) is noted here before it is lost.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mcp.shared._httpx_utils import create_mcp_http_client

if TYPE_CHECKING:
    import httpx2

_FAILED: Final = 400
_MOST_REMEMBERED: Final = 1_000


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What an HTTP server answered instead of a result."""

    status: int
    retry_after: str | None = None


class HttpAnswers:
    """The failed answers of one connection, by JSON-RPC id, until they are asked for."""

    def __init__(self) -> None:
        self._by_id: dict[object, HttpAnswer] = {}
        self.last: HttpAnswer | None = None

    def client(self, headers: dict[str, str]) -> httpx2.AsyncClient:
        """An HTTP client whose failed answers are noted here."""
        client = create_mcp_http_client(headers=headers)
        client.event_hooks["response"].append(self._note)
        return client

    def take(self, request_id: object) -> HttpAnswer | None:
        """The failed answer to a request, if there was one; it is forgotten."""
        return self._by_id.pop(request_id, None)

    async def _note(self, response: httpx2.Response) -> None:
        if response.status_code < _FAILED:
            return
        self.last = HttpAnswer(response.status_code, response.headers.get("retry-after"))
        try:
            body = json.loads(response.request.content)
        except ValueError:
            return
        if isinstance(body, dict) and len(self._by_id) < _MOST_REMEMBERED:
            self._by_id[body.get("id")] = self.last
