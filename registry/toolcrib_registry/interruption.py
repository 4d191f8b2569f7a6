"""Ends everything that runs inside its scopes at once, when it is told to.

Not a time limit: it comes from outside, once, and for good. The path of calls uses it when the crib
ends, the surface when a client leaves.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Iterator


class Interruption:
    """Cancels its scopes when it begins.

    Attributes:
        has_begun: whether it was told to; nothing new should start then.
    """

    def __init__(self) -> None:
        self._scopes: set[anyio.CancelScope] = set()
        self.has_begun = False

    @contextmanager
    def scope(self) -> Iterator[anyio.CancelScope]:
        """A scope that ends early, without an exception, when the interruption begins."""
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            try:
                yield scope
            finally:
                self._scopes.discard(scope)

    def begin(self) -> None:
        """Interrupt."""
        self.has_begun = True
        for scope in tuple(self._scopes):
            scope.cancel()
