"""A time limit that stands still while a person is asked, and can begin anew.

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
        self._began = anyio.current_time()
        self._until = self._began + seconds
        self._stood_still = 0.0
        self._stands_since = 0.0
        self._scopes: list[anyio.CancelScope] = []
        self._questions = 0

    @property
    def left(self) -> float:
        """How many seconds are left."""
        return self._left if self._questions else self._until - anyio.current_time()

    @property
    def age(self) -> float:
        """How many seconds it has run; those in which it stood still do not count."""
        now = self._stands_since if self._questions else anyio.current_time()
        return now - self._began - self._stood_still

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
            self._stands_since = anyio.current_time()
            self._end_at(inf)
        self._questions += 1
        try:
            yield
        finally:
            self._questions -= 1
            if self._questions == 0:
                self._stood_still += anyio.current_time() - self._stands_since
                self._end_at(anyio.current_time() + self._left)

    def begin_anew(self, seconds: float, latest: float) -> None:
        """Let the time run from now on again, but end `latest` seconds after it first began.

        Never ends it earlier than it would have ended.
        """
        more = min(seconds, latest - self.age)
        if more <= self.left:
            return
        if self._questions:
            self._left = more
        else:
            self._end_at(anyio.current_time() + more)

    def _end_at(self, moment: float) -> None:
        self._until = moment
        for scope in self._scopes:
            scope.deadline = moment
