"""What the faults of a database mean to people.

Which code, what to do, and whether trying again helps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import STORE_BUSY, STORE_UNAVAILABLE, ErrorKind, ToolError

if TYPE_CHECKING:
    from sqlalchemy.exc import DBAPIError

BUSY_SECONDS: Final = 15.0
"""How long a write waits for another process's lock, if nothing else is said."""
OTHER_HOME: Final = "choose another home folder with --home or TOOLCRIB_HOME"


@dataclass(frozen=True, slots=True)
class _Meaning:
    code: str
    advice: str
    kind: ErrorKind


_BUSY: Final = _Meaning(STORE_BUSY, "another process writes to it; try again", ErrorKind.RETRYABLE)
_FULL: Final = _Meaning(
    STORE_UNAVAILABLE, "free space on its disk; nothing was written", ErrorKind.NEEDS_HUMAN
)
_READ_ONLY: Final = _Meaning(
    STORE_UNAVAILABLE,
    f"allow this user to write to it and its folder, or {OTHER_HOME}",
    ErrorKind.NEEDS_HUMAN,
)
_DAMAGED: Final = _Meaning(
    STORE_UNAVAILABLE,
    f"it is damaged or no database: move it away, restore a backup, or {OTHER_HOME}",
    ErrorKind.NEEDS_HUMAN,
)
_CANNOT_OPEN: Final = _Meaning(
    STORE_UNAVAILABLE,
    f"check that its folder exists and that this user may write there, or {OTHER_HOME}",
    ErrorKind.NEEDS_HUMAN,
)
_NOT_ALLOWED: Final = _Meaning(
    STORE_UNAVAILABLE, "give the user of the URL the right to it", ErrorKind.NEEDS_HUMAN
)
_UNREACHABLE: Final = _Meaning(
    STORE_UNAVAILABLE,
    "check that the server runs and that host, user and database of the URL are right",
    ErrorKind.RETRYABLE,
)
_OTHER: Final = _Meaning(
    STORE_UNAVAILABLE,
    "if it was not made by toolcrib, choose another; otherwise this is a fault of toolcrib",
    ErrorKind.FATAL,
)

# Primary result codes of https://sqlite.org/rescode.html.
_SQLITE: Final = {
    5: _BUSY,
    6: _BUSY,
    8: _READ_ONLY,
    10: _FULL,  # SQLITE_IOERR: what quotas and broken disks look like
    11: _DAMAGED,
    13: _FULL,
    14: _CANNOT_OPEN,
    26: _DAMAGED,
}
# https://www.postgresql.org/docs/current/errcodes-appendix.html: a full code, or the class in its
# first two characters.
_POSTGRESQL: Final = {
    "55P03": _BUSY,
    "40P01": _BUSY,
    "40001": _BUSY,
    "53300": _BUSY,
    "53100": _FULL,
    "25006": _READ_ONLY,
    "42501": _NOT_ALLOWED,
    "08": _UNREACHABLE,
    "57": _UNREACHABLE,
}


def as_tool_error(error: DBAPIError, label: str) -> ToolError:
    """The fault of the database called `label`, as people and programs can act on it."""
    meaning = _meaning(error)
    words = str(error.orig).strip().split("\n")[0]
    return ToolError(meaning.code, f"{label}: {words}; {meaning.advice}", meaning.kind)


def _meaning(error: DBAPIError) -> _Meaning:
    number = getattr(error.orig, "sqlite_errorcode", None)
    if number is not None:
        return _SQLITE.get(number & 0xFF, _OTHER)
    state: str | None = getattr(error.orig, "sqlstate", "")
    if state is None:  # the client library's own words: it never reached a server, or lost it
        return _UNREACHABLE
    return _POSTGRESQL.get(state) or _POSTGRESQL.get(state[:2], _OTHER)
