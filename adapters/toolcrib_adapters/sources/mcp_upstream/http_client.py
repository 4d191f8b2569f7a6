"""The HTTP client of one connection: what goes wrong with a request is noted, and stays its own.

The SDK turns 401, 429 and 500 into one and the same error, and one broken connection into the end
of every call that runs. Here a broken connection becomes a failed answer of its own request, and
what a failure tells (sign in; come back in so many seconds; never reached) is noted for the caller.
"""

from __future__ import annotations

import json
import logging
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import anyio
import httpx2

from toolcrib_adapters.outbound.addresses import Reach
from toolcrib_adapters.outbound.network import check_addresses, check_written_address
from toolcrib_adapters.sources.mcp_upstream.attribution import being_made
from toolcrib_adapters.sources.mcp_upstream.bounded_response import (
    BoundedResponse,
    UnreadableBodyError,
)
from toolcrib_adapters.sources.mcp_upstream.retry_after import retry_after_seconds
from toolcrib_adapters.sources.mcp_upstream.surrogates import written

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from toolcrib_adapters.expansion import Secrets
    from toolcrib_protocol.json_value import JsonObject

_FAILED: Final = 400
_RESUMES: Final = "last-event-id"
_SESSION: Final = "mcp-session-id"
_LOOK: Final = 1_000
"""How much of what a server says of a bad request is looked at."""
_BROKEN: Final = 599
"""The status in place of an answer that did not come; no server gives it."""
_MOST_REMEMBERED: Final = 1_000
# The longest call waits for 900 s, and a server may be silent for all of them.
_TIMEOUT: Final = httpx2.Timeout(30.0, read=960.0)
_MOST_CONNECTIONS: Final = httpx2.Limits(max_connections=1_000, max_keepalive_connections=100)
_SDK_LOGGERS: Final = ("mcp.client.streamable_http", "mcp.client.sse")
_OUR_LOGGER: Final = "toolcrib_adapters.sources.mcp_upstream.posted_request"
_LOGGERS: Final = ("httpx2", _OUR_LOGGER, *_SDK_LOGGERS)


@dataclass(frozen=True, slots=True)
class HttpFailure:
    """What came back instead of a result.

    Attributes:
        status: the HTTP status; None if the connection broke.
        retry_after_seconds: when to come back, if the server says so.
        asks_sign_in: whether the server asks for (other) credentials.
        never_left: whether the request certainly did not reach the server.
        reason: what broke, or what the server said.
        had_session: whether the request named a session at the server.
    """

    status: int | None
    retry_after_seconds: float | None = None
    asks_sign_in: bool = False
    never_left: bool = False
    reason: str = ""
    had_session: bool = False

    @property
    def details(self) -> JsonObject:
        """What an error tells of it."""
        told: JsonObject = {} if self.status is None else {"http_status": self.status}
        if self.retry_after_seconds is not None:
            told["retry_after_seconds"] = self.retry_after_seconds
        return told

    @property
    def told(self) -> str:
        """The failure in a few words."""
        return self.reason if self.status is None else f"HTTP {self.status}"


class HttpFailures:
    """The failures of one connection, by JSON-RPC id, until they are asked for.

    Attributes:
        last: the newest one, for a connection that could not be made.
        fatal: set when the connection is of no use any more.
        gave_session: whether the server named a session.
    """

    def __init__(self) -> None:
        self._by_id: dict[object, HttpFailure] = {}
        self.last: HttpFailure | None = None
        self.fatal = anyio.Event()
        self.gave_session = False

    def take(self, request_id: object) -> HttpFailure | None:
        """The failure of a request, if there was one; it is forgotten."""
        return self._by_id.pop(request_id, None) if self._by_id else None

    def note(self, request_id: object, failure: HttpFailure) -> None:
        """Remember what came back instead of the answer to a request, if it has an id."""
        self.last = failure
        if request_id is None:
            return
        if len(self._by_id) >= _MOST_REMEMBERED:
            # Nobody has asked for the oldest one, and nobody will.
            del self._by_id[next(iter(self._by_id))]
        self._by_id[request_id] = failure


def _request_id(request: httpx2.Request) -> object:
    if request.method != "POST":
        return None
    try:
        body = json.loads(request.content)
    except ValueError:
        return None
    return body.get("id") if isinstance(body, dict) else None


class NotingClient(httpx2.AsyncClient):
    """An HTTP client that notes failures and lets none of them out."""

    def __init__(
        self,
        failures: HttpFailures,
        headers: dict[str, str] | None,
        *,
        reach: Reach = Reach.LOCAL,
        is_brittle: bool = False,
    ) -> None:
        """A client for one connection.

        Args:
            failures: where failures are noted.
            headers: sent with every request.
            reach: which addresses it may connect to.
            is_brittle: the transport above sends nothing more after one failed request.
        """
        super().__init__(headers=headers, timeout=_TIMEOUT, limits=_MOST_CONNECTIONS)
        check_addresses(self, reach)
        self._reach = reach
        self._failures = failures
        self._is_brittle = is_brittle

    def build_request(self, *args: Any, **parts: Any) -> httpx2.Request:
        """A request, also of JSON that holds lone surrogates."""
        try:
            return super().build_request(*args, **parts)
        except UnicodeEncodeError:
            content = written(parts.pop("json"))
            request = super().build_request(*args, content=content, **parts)
            request.headers["content-type"] = "application/json"
            return request

    async def send(
        self, request: httpx2.Request, *, stream: bool = False, **options: Any
    ) -> httpx2.Response:
        """The response, its body bounded, or a failed one in its place."""
        response = BoundedResponse.of(await self._answered(request, options))
        if _SESSION in response.headers:
            self._failures.gave_session = True
        if response.status_code == _FAILED and _SESSION in request.headers:
            await self._look_at_refusal(request, response)
        # A body that cannot be read would end a brittle transport without a word.
        is_read_here = self._is_brittle and isinstance(response, BoundedResponse)
        if stream and not is_read_here:
            return response
        try:
            await response.aread()
        except UnreadableBodyError as error:
            self._failures.note(_request_id(request), HttpFailure(None, reason=str(error)))
            if self._is_brittle:
                self._failures.fatal.set()
            return httpx2.Response(_BROKEN, request=request)
        finally:
            await response.aclose()
        return response

    async def _answered(self, request: httpx2.Request, options: dict[str, Any]) -> httpx2.Response:
        """The response with its body unread, or a failed one in its place."""
        if _RESUMES in request.headers:
            await _let_caller_go()
        try:
            check_written_address(request.url, self._reach)
            response = await super().send(request, stream=True, **options)
        except httpx2.TransportError as error:
            self._failures.note(_request_id(request), _broken(error))
            if self._is_brittle or isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
                self._failures.fatal.set()
            return httpx2.Response(_BROKEN, request=request)
        if response.status_code >= _FAILED:
            failure = failure_of(response.status_code, response.headers)
            self._failures.note(_request_id(request), failure)
            if self._is_brittle:
                self._failures.fatal.set()
        elif isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _NotingStream(response.stream, request, self._failures)
        return response

    async def _look_at_refusal(self, request: httpx2.Request, response: httpx2.Response) -> None:
        """Note what a server says of a bad request: some say so that they know no such session."""
        with suppress(UnreadableBodyError, httpx2.TransportError):
            await response.aread()
            said = response.content[:_LOOK].decode("utf-8", "replace")
            failure = failure_of(response.status_code, response.headers)
            self._failures.note(
                _request_id(request), replace(failure, reason=said, had_session=True)
            )


async def _let_caller_go() -> None:
    """The server has let the stream of an answer go: whoever waits for that answer may be, too."""
    context = being_made()
    if context is not None and context.let_go is not None:
        await context.let_go()


class _NotingStream(httpx2.AsyncByteStream):
    """A body that ends where its connection breaks."""

    def __init__(
        self, stream: httpx2.AsyncByteStream, request: httpx2.Request, failures: HttpFailures
    ) -> None:
        self._stream = stream
        self._request = request
        self._failures = failures

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._stream:
                yield chunk
        except httpx2.TransportError as error:
            self._failures.note(_request_id(self._request), _broken(error))

    async def aclose(self) -> None:
        await self._stream.aclose()


def _broken(error: httpx2.TransportError) -> HttpFailure:
    never_left = isinstance(
        error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout | httpx2.ProxyError
    )
    return HttpFailure(None, never_left=never_left, reason=str(error) or type(error).__name__)


def failure_of(status: int, headers: Mapping[str, str]) -> HttpFailure:
    """What an answer with a failed status says; the names of its headers are in lower case."""
    asks = status in {401, 403} or "www-authenticate" in headers
    return HttpFailure(status, retry_after_seconds(headers), asks_sign_in=asks)


class _Redacting(logging.Filter):
    def __init__(self, secrets: Secrets) -> None:
        super().__init__()
        self._secrets = secrets

    def filter(self, record: logging.LogRecord) -> bool:
        # What goes wrong is told by the call or the state of the source; the SDK's own words are
        # for those who debug. A traceback quotes what the server sent, secrets and all.
        if record.name in _SDK_LOGGERS and not logging.getLogger(record.name).isEnabledFor(
            logging.DEBUG
        ):
            return False
        record.exc_info = record.exc_text = None
        record.msg, record.args = self._secrets.hidden(record.getMessage()), None
        return True


@contextmanager
def quiet_logs(secrets: Secrets) -> Iterator[None]:
    """Inside, what the HTTP client and the SDK log (addresses, at level INFO) shows no secret."""
    redacting = _Redacting(secrets)
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(redacting)
    try:
        yield
    finally:
        for name in _LOGGERS:
            logging.getLogger(name).removeFilter(redacting)
