"""A time limit that stands still while a person is asked.

What a call may take is meant for its source; a person who reads a question is not the source. Used
by the path of a call and by sources, each with a limit of its own. Not a limit on the person:
`interaction.ANSWER_SECONDS` is.
"""

from __future__ import annotations

from contextlib import contextmanager
from math import inf
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Iterator


class Patience:
    """The time limit of one call.

    Attributes:
        seconds: how long it was at first.
    """

    def __init__(self, seconds: float) -> None:
        """A limit whose time runs from now on."""
        self.seconds = seconds
        self._left = seconds
        self._until = anyio.current_time() + seconds
        self._scopes: list[anyio.CancelScope] = []
        self._questions = 0

    @property
    def left(self) -> float:
        """How many seconds are left."""
        return self._left if self._questions else self._until - anyio.current_time()

    @contextmanager
    def limit(self) -> Iterator[anyio.CancelScope]:
        """A scope that is cancelled, without an exception, when the time is up."""
        with anyio.CancelScope(deadline=self._until) as scope:
            self._scopes.append(scope)
            try:
                yield scope
            finally:
                self._scopes.remove(scope)

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Inside, no time passes; questions may overlap."""
        if self._questions == 0:
            self._left = self.left
            self._end_at(inf)
        self._questions += 1
        try:
            yield
        finally:
            self._questions -= 1
            if self._questions == 0:
                self._end_at(anyio.current_time() + self._left)

    def _end_at(self, moment: float) -> None:
        self._until = moment
        for scope in self._scopes:
            scope.deadline = moment
