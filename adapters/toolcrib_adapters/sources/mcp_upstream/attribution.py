"""For which call an upstream sends what it sends between question and answer.

Over HTTP such messages come on the stream of their request, and the SDK hands them on in the
context of the task that made it: there the variable says it. Over one pipe nothing tells them
apart, except where a single request is under way.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_registry.ports import CallContext

_making: ContextVar[CallContext | None] = ContextVar("upstream_request", default=None)


def being_made() -> CallContext | None:
    """Whose request is made in this task."""
    return _making.get()


class Attribution:
    """The requests under way at one upstream.

    Attributes:
        is_shared: whether everything arrives on one pipe. Over HTTP, what comes outside of the
            streams of requests belongs to none of them.
    """

    def __init__(self) -> None:
        self._under_way: dict[int, CallContext] = {}
        self.is_shared = True

    @contextmanager
    def making(self, context: CallContext) -> Iterator[None]:
        """A request for `context` is made inside."""
        token = _making.set(context)
        self._under_way[id(context)] = context
        try:
            yield
        finally:
            self._under_way.pop(id(context), None)
            _making.reset(token)

    def whose(self) -> CallContext | None:
        """Whose request the message that is being handled belongs to, where that can be told."""
        context = _making.get()
        if context is not None:
            return context
        if self.is_shared and len(self._under_way) == 1:
            return next(iter(self._under_way.values()))
        return None
