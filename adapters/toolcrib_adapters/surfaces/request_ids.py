"""The ids of requests in flight on one connection, so that no answer reaches the wrong request.

A client may not use an id again before its answer came; 1 and "1" are two ids. The SDK takes them
for one, and lets a second request with the same id have the first one's answer: so a second one is
refused here, and one that the SDK would mix up gets another id on its way in and its own back on
its way out.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from mcp.shared.dispatcher import coerce_request_id

if TYPE_CHECKING:
    from collections.abc import Callable

    RequestId = str | int


_MOST_ABANDONED: Final = 1_000


class RequestIds:
    """The ids of one connection."""

    def __init__(self, new_id: Callable[[], str] = lambda: uuid4().hex) -> None:
        """No request is in flight.

        Args:
            new_id: makes an id that nobody can guess.
        """
        self._new_id = new_id
        self._inner: dict[tuple[bool, RequestId], RequestId] = {}
        self._outer: dict[RequestId, RequestId] = {}
        # What a client gave up may still run inside, under an id that it may use again.
        self._abandoned: OrderedDict[RequestId, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._inner)

    def admit(self, request_id: RequestId) -> RequestId | None:
        """The id under which the request goes on; None if that id is in flight."""
        key = _key(request_id)
        if key in self._inner:
            return None
        alike = coerce_request_id(request_id)
        mixes = alike in self._outer or alike in self._abandoned
        inner = self._new_id() if mixes else request_id
        self._inner[key] = inner
        self._outer[coerce_request_id(inner)] = request_id
        return inner

    def inner(self, request_id: RequestId) -> RequestId:
        """The id under which a request in flight went on; for what refers to it (cancellation)."""
        return self._inner.get(_key(request_id), request_id)

    def outer(self, inner: RequestId) -> RequestId:
        """The client's id of the request that went on as `inner`."""
        return self._outer.get(coerce_request_id(inner), inner)

    def answered(self, inner: RequestId) -> None:
        """The answer is on its way, so the client may use its id again.

        Until `release`, another request with that id goes on under an id of its own.
        """
        outer = self.outer(inner)
        if self._inner.get(_key(outer)) == inner:
            del self._inner[_key(outer)]

    def release(self, inner: RequestId, *, is_answered: bool = True) -> None:
        """The request that went on as `inner` is not in flight any more.

        Args:
            inner: what `admit` gave for it.
            is_answered: False if the client gave it up before its answer came.
        """
        alike = coerce_request_id(inner)
        if alike not in self._outer:
            return
        self.answered(inner)
        outer = self._outer.pop(alike)
        if not is_answered and inner == outer:
            self._abandoned[alike] = None
            if len(self._abandoned) > _MOST_ABANDONED:
                self._abandoned.popitem(last=False)


def _key(request_id: RequestId) -> tuple[bool, RequestId]:
    return isinstance(request_id, str), request_id
