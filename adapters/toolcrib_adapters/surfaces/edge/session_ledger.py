"""The sessions of older clients: which are open, which are in use, which have to go.

Pure: times come in, decisions go out. `sessions.py` listens to the traffic and ends sessions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from toolcrib_adapters.surfaces.request_ids import RequestIds

MOST_SESSION_REQUESTS: Final = 100
"""So many requests of one session may run at once."""


@dataclass(eq=False, slots=True)
class Session:
    """One session.

    Attributes:
        path: the endpoint it belongs to.
        id: the SDK's id.
        used: when its last request ended.
        requests: how many of its requests run.
        streams: how many of its streams are open.
        ids: the JSON-RPC ids in flight.
    """

    path: str
    id: str
    used: float
    requests: int = 0
    streams: int = 0
    ids: RequestIds = field(default_factory=RequestIds)


class SessionLedger:
    """All sessions of one server process, over all endpoints."""

    def __init__(self, *, most: int, idle_seconds: float) -> None:
        """An empty ledger.

        Args:
            most: how many sessions there may be.
            idle_seconds: a session that nothing was asked of for so long has to go, counted from
                the end of its last request.
        """
        self._most = most
        self._idle_seconds = idle_seconds
        self._sessions: dict[tuple[str, str], Session] = {}
        self._opening = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def find(self, path: str, session_id: str) -> Session | None:
        """The open session of that id at that endpoint."""
        return self._sessions.get((path, session_id))

    def reserve(self) -> Session | bool | None:
        """Take a place for a session that is being opened.

        Returns:
            True: there is one; a session: there is one once this one is ended; None: there is none.
        """
        if len(self._sessions) + self._opening < self._most:
            self._opening += 1
            return True
        idle = [session for session in self._sessions.values() if not session.requests]
        if not idle:
            return None
        self._opening += 1
        # One whose client listens is more likely to be wanted than one without any connection.
        oldest = min(idle, key=lambda session: (session.streams > 0, session.used))
        self.forget(oldest)
        return oldest

    def release(self) -> None:
        """The place that was taken is given up."""
        self._opening -= 1

    def opened(self, path: str, session_id: str, now: float) -> Session:
        """A session came into being, in the place that was taken for it."""
        self._opening -= 1
        session = self._sessions[path, session_id] = Session(path, session_id, now)
        return session

    def forget(self, session: Session) -> None:
        """A session ended, whoever ended it."""
        self._sessions.pop((session.path, session.id), None)

    def expired(self, now: float) -> list[Session]:
        """The sessions whose time is over; they are forgotten."""
        gone = [
            session
            for session in self._sessions.values()
            if not session.requests
            and not session.streams
            and now - session.used >= self._idle_seconds
        ]
        for session in gone:
            self.forget(session)
        return gone
