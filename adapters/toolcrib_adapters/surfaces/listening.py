"""The socket that the HTTP endpoint listens on, bound before anything else starts.

A taken port is told at once, with what to do about it. Knows nothing of HTTP.
"""

from __future__ import annotations

import errno
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError

if TYPE_CHECKING:
    from collections.abc import Iterator

_BACKLOG: Final = 512


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A listening socket.

    Raises:
        ToolError: `invalid_settings` if the address cannot be listened on.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host.strip("[]"),
            port,
            type=socket.SOCK_STREAM,
            flags=socket.AI_PASSIVE,
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _cannot_listen(host, port, error) from error
    with listener:
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(_BACKLOG)
        except OSError as error:
            raise _cannot_listen(host, port, error) from error
        yield listener


def _cannot_listen(host: str, port: int, error: OSError) -> ToolError:
    where = f"{host}:{port}"
    if error.errno == errno.EADDRINUSE:
        text = (
            f"port {port} on {host} is in use, perhaps by another `toolcrib "
            "serve`; end that one or choose another port with --port (0 takes a free one)"
        )
    elif error.errno == errno.EACCES:
        text = f"this user may not listen on {where}; choose a port above 1023 with --port"
    else:
        text = f"cannot listen on {where}: {error.strerror or error}; check --host and --port"
    return ToolError(INVALID_SETTINGS, text, details={"host": host, "port": port})


def address(listener: socket.socket) -> str:
    """The `http://` address of a listening socket, as this machine reaches it."""
    host, port = listener.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"
