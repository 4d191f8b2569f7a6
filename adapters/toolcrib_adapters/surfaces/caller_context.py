"""What a caller wants to hear while its request runs: progress, log messages.

Read from the SDK's context of one request; used for calls of tools and for everything else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4
from weakref import WeakKeyDictionary

import mcp_types as types
from mcp.server.connection import NotifyOnlyOutbound
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolcrib_protocol.log_level import LEVELS
from toolcrib_registry.ports import CallLog

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server.connection import Connection
    from mcp.server.context import ServerRequestContext
    from mcp.shared.dispatcher import Outbound

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.ports import Progress

    Context = ServerRequestContext[Any, Any]

_LEVEL: Final = "toolcrib.log_level"
"""Where the state of a connection keeps the level that its client set."""
_SESSION: Final = "toolcrib.session"
_CONVERSATIONS: Final[WeakKeyDictionary[Outbound, str]] = WeakKeyDictionary()
"""Those of the newer generation, by the stream that all their requests come on."""


def progress_of(ctx: Context) -> Callable[[Progress], Awaitable[None]] | None:
    """Where progress goes, if the caller asked for it."""
    # In process and in the newer generation the SDK keeps the wish to itself; elsewhere there is a
    # token.
    may_be_in_process = ctx.request is None and ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    if "progress_token" not in (ctx.meta or {}) and not may_be_in_process:
        return None

    async def report(progress: Progress) -> None:
        await ctx.session.report_progress(progress.progress, progress.total, progress.message)

    return report


def connection_of(ctx: Context) -> Connection:
    """The connection that a request came on; of the newer generation, one a request."""
    return ctx.session._connection  # noqa: SLF001 - the SDK has no public way to it


def session_of(ctx: Context) -> str:
    """What tells the conversations of one caller apart; empty where nothing does.

    Requests of the newer generation over HTTP are each for themselves. On standard streams and
    sockets they are one conversation, though the SDK makes a connection for each.
    """
    connection = connection_of(ctx)
    if ctx.request is not None and connection.session_id is None:
        return ""
    if isinstance(connection.outbound, NotifyOnlyOutbound):
        return _CONVERSATIONS.setdefault(connection.outbound, uuid4().hex)
    name: str = connection.state.setdefault(_SESSION, connection.session_id or uuid4().hex)
    return name


def set_level(connection: Connection, level: str) -> None:
    """From now on the client of a connection wants log messages of `level` and graver ones."""
    connection.state[_LEVEL] = level


def level_of(connection: Connection) -> str | None:
    """The level that the client of a connection has set."""
    level = connection.state.get(_LEVEL)
    return level if isinstance(level, str) else None


def log_of(ctx: Context) -> CallLog | None:
    """Where the log messages of a request go.

    A caller of 2026-07-28 says with each request which it wants, and gets none otherwise; an older
    one says it once, and gets what sources send by themselves until then.
    """
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        level = (ctx.meta or {}).get(types.LOG_LEVEL_META_KEY)
        return CallLog(_reporter(ctx), str(level)) if level in LEVELS else None
    return CallLog(_reporter(ctx), level_of(connection_of(ctx)))


def _reporter(ctx: Context) -> Callable[[JsonObject], Awaitable[None]]:
    async def report(message: JsonObject) -> None:
        # Not the SDK's `send_log_message`: it warns at each call that logging is going away.
        words = log_notification(message)
        await ctx.session.send_notification(words, related_request_id=ctx.request_id)

    return report


def log_notification(message: JsonObject) -> types.LoggingMessageNotification:
    """A source's log message as a notification of ours."""
    params = types.LoggingMessageNotificationParams.model_validate(message)
    return types.LoggingMessageNotification(params=params)
