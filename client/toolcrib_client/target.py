"""What a crib can be reached by: an address, a command, or a server in this process.

Reads what the caller gave into one value; opens nothing. Used by `Crib` and `link`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from urllib.parse import urlsplit

from mcp.client.stdio import StdioServerParameters
from mcp.server import Server

from toolcrib_client.failures import failure
from toolcrib_protocol.errors import INVALID_SETTINGS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


# `Any` is the type of a server's lifespan state: it is invariant, and nothing here looks at it.
class HasServer(Protocol):
    """Anything that holds an MCP server, such as a gateway opened in this process."""

    @property
    def server(self) -> Server[Any]:
        """The server."""
        ...


@dataclass(frozen=True, slots=True)
class HttpTarget:
    """A streamable HTTP endpoint.

    Attributes:
        url: the endpoint, for example `http://127.0.0.1:8765/mcp`.
        headers: sent with every request; may hold credentials, so they are not shown.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        """The address without user, password and query, which may be secret."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


@dataclass(frozen=True, slots=True)
class StdioTarget:
    """A command that speaks MCP on its standard input and output."""

    parameters: StdioServerParameters = field(repr=False)

    def __str__(self) -> str:
        """The command, without arguments that may be secret."""
        return f"the command {self.parameters.command!r}"


@dataclass(frozen=True, slots=True)
class ServerTarget:
    """A server object in this process."""

    server: Server[Any] = field(repr=False)

    def __str__(self) -> str:
        return f"the server {self.server.name!r} in this process"


Target: TypeAlias = HttpTarget | StdioTarget | ServerTarget
Reachable: TypeAlias = "str | Sequence[str] | StdioServerParameters | Server[Any] | HasServer"
"""What `Crib(...)` accepts."""


def read_target(
    given: Reachable, *, token: str | None = None, headers: Mapping[str, str] | None = None
) -> Target:
    """The target that `given` means.

    Args:
        given: a URL; a command with its arguments (it inherits this process's environment);
            `StdioServerParameters`; an `mcp.server.Server`, or an object with one as `.server`.
        token: sent as `Authorization: Bearer ...`; URLs only.
        headers: sent with every request; URLs only.

    Raises:
        ToolError: `invalid_settings`, naming what was given.
    """
    if isinstance(given, str):
        return _address(given, token, headers)
    if token is not None or headers:
        raise failure(
            INVALID_SETTINGS,
            "token and headers are for URLs; a command gets its secrets through env",
        )
    if isinstance(given, StdioServerParameters):
        return StdioTarget(_forgiving(given))
    if isinstance(given, list | tuple):
        return StdioTarget(_command([str(word) for word in given]))
    server = given if isinstance(given, Server) else getattr(given, "server", None)
    if isinstance(server, Server):
        return ServerTarget(server)
    raise failure(
        INVALID_SETTINGS,
        f"a crib cannot be reached by a {type(given).__name__}; give a URL such as "
        "'http://127.0.0.1:8765/mcp', "
        "a command such as ['toolcrib', 'serve', '--stdio'], StdioServerParameters, or an "
        "mcp.server.Server",
    )


def _address(url: str, token: str | None, headers: Mapping[str, str] | None) -> HttpTarget:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise failure(
            INVALID_SETTINGS,
            f"{url!r} is not an http(s) address; write http://HOST:PORT/mcp, or give a "
            "command as a list of words",
        )
    credentials = {} if token is None else {"Authorization": f"Bearer {token}"}
    return HttpTarget(url, {**(headers or {}), **credentials})


def _command(words: list[str]) -> StdioServerParameters:
    if not words:
        raise failure(
            INVALID_SETTINGS,
            "the command is empty; write for example ['toolcrib', 'serve', '--stdio']",
        )
    # The caller's own crib: its home and the secrets of its sources are in the environment.
    return _forgiving(StdioServerParameters(command=words[0], args=words[1:], env=dict(os.environ)))


def _forgiving(parameters: StdioServerParameters) -> StdioServerParameters:
    # With "strict" one byte that is not UTF-8 would end the connection.
    return parameters.model_copy(update={"encoding_error_handler": "replace"})
