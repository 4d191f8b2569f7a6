"""The local socket of a running crib: greets clients and serves each as on standard streams.

Every client gets the endpoint it asks for. A crib that clients started ends with the last of them;
one that is told to end lets what runs be answered first. Who may connect is the system's business:
the socket is this user's alone.
"""

from __future__ import annotations

import logging
import os
import secrets
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, Protocol

import anyio
import anyio.abc
from mcp.server.stdio import stdio_server
from pydantic import ValidationError

from toolcrib_adapters.surfaces.attach.greeting import (
    GREETING_SECONDS,
    RETIRING,
    WIRE,
    Welcome,
    Wish,
    digests,
)
from toolcrib_adapters.surfaces.attach.link import GONE
from toolcrib_adapters.surfaces.attach.place import no_socket
from toolcrib_adapters.surfaces.checked_streams import checked_streams, request_line
from toolcrib_adapters.surfaces.standard_streams import CHUNK, lines_of
from toolcrib_protocol.errors import UPSTREAM_PROTOCOL, ToolError
from toolcrib_protocol.json_value import dump_json, parse_json
from toolcrib_protocol.result import Result

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
    from pathlib import Path

    from toolcrib_adapters.surfaces.mcp_server import CribServer
    from toolcrib_protocol.json_value import JsonObject

_log = logging.getLogger(__name__)

FIRST_CLIENT_SECONDS: Final = 20.0
"""How long a crib that a client started waits for it."""
LINGER_SECONDS: Final = 2.0
"""How long it waits for another one after the last has gone: clients like to look in twice."""
DRAIN_SECONDS: Final = 10.0
"""How long what runs may take to be answered when the crib is told to end."""
_ANSWER_SECONDS: Final = 2.0
_BACKLOG: Final = 128


class Served(Protocol):
    """What a crib's socket gives access to."""

    def counts(self) -> str:
        """How much there is, in words."""
        ...

    def variables(self) -> Collection[str]:
        """The names of the environment variables that its sources use."""
        ...

    def server(self, wish: Wish) -> CribServer:
        """The endpoint that a client asks for.

        Raises:
            ToolError: there is no such endpoint.
        """
        ...

    async def call(self, wish: JsonObject) -> JsonObject:
        """Call one tool for the command line; failures are part of the answer."""
        ...


@dataclass(frozen=True, slots=True)
class Identity:
    """What a crib says about itself.

    Attributes:
        version: its toolcrib.
        kind: see `Welcome.kind`.
        database: the digest of its database's name.
        settings: see `Welcome.settings`.
        environment: what its sources expand from.
        url: where it is served over HTTP.
        publishes: whether a client may be allowed to publish.
    """

    version: str
    kind: Literal["stdio", "http"]
    database: str
    settings: Mapping[str, str]
    environment: Mapping[str, str] = field(repr=False)
    url: str | None = None
    publishes: bool = True


class Listener:
    """The local socket of one crib."""

    def __init__(self, served: Served, identity: Identity) -> None:
        self._served = served
        self._identity = identity
        self._salt = secrets.token_hex(8)
        self._clients: set[_Client] = set()
        self._moved = anyio.Event()
        self.retire = anyio.Event()
        """Set when a client asked the crib to end."""

    async def serve(
        self, socket: Path, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Listen until cancelled; whoever is connected is cut off then.

        Raises:
            ToolError: `store_unavailable`: the socket cannot be made.
        """
        try:
            made = await anyio.create_unix_listener(os.fspath(socket), mode=0o600, backlog=_BACKLOG)
        except OSError as error:
            raise no_socket(socket, error) from error
        async with made as listener:
            task_status.started()
            await listener.serve(self._greet)

    async def idle(self) -> None:
        """Return when nobody has been connected for a while."""
        patience = FIRST_CLIENT_SECONDS
        while True:
            moved = self._moved
            if self._clients:
                patience = LINGER_SECONDS
                await moved.wait()
                continue
            with anyio.move_on_after(patience) as waiting:
                await moved.wait()
            if waiting.cancelled_caught:
                return

    async def drain(self, interrupt: Callable[[], None]) -> None:
        """Let what runs be answered, within a bound; `interrupt` answers what still runs then."""
        with anyio.move_on_after(DRAIN_SECONDS):
            async with anyio.create_task_group() as tasks:
                # At once: a client that does not read must not keep the others from hearing it.
                for client in list(self._clients):
                    tasks.start_soon(client.say, RETIRING)
                await self._nobody()
                tasks.cancel_scope.cancel()
        if self._clients:
            interrupt()
            with anyio.move_on_after(_ANSWER_SECONDS):
                await self._nobody()

    async def _nobody(self) -> None:
        while self._clients:
            await self._moved.wait()

    async def _greet(self, stream: anyio.abc.SocketStream) -> None:
        """One connection, from its first line to its end."""
        client = _Client(stream)
        try:
            async with stream:
                wish = await client.wish()
                if wish is not None:
                    await self._answer(client, wish)
        except GONE:
            _log.debug("a client left in the middle of something")
        except Exception:  # noqa: BLE001 - the border of a connection: its faults are its own
            _log.exception("a client's connection ended with a fault of toolcrib")

    async def _answer(self, client: _Client, wish: Wish) -> None:
        welcome = self._welcome()
        refusal, may_run_alone = self._refusal(wish)
        if refusal is not None:
            welcome = welcome.model_copy(
                update={"refusal": refusal, "may_run_alone": may_run_alone}
            )
        elif wish.ask == "call":
            await self._call(client, welcome)
            return
        elif wish.ask == "retire" and self._identity.kind == "stdio":
            self.retire.set()
        elif wish.ask == "attach":
            await self._attach(client, wish, welcome)
            return
        await client.say(welcome.model_dump_json().encode())

    def _refusal(self, wish: Wish) -> tuple[str | None, bool]:
        if wish.wire != WIRE:
            return f"the running crib is toolcrib {self._identity.version}, of another form", True
        if wish.ask in {"attach", "call"} and wish.database != self._identity.database:
            return "the running crib of this home uses another database", True
        return None, False

    def _welcome(self) -> Welcome:
        identity = self._identity
        return Welcome(
            version=identity.version,
            pid=os.getpid(),
            kind=identity.kind,
            url=identity.url,
            settings=dict(identity.settings),
            counts=self._served.counts(),
            clients=len(self._clients),
            salt=self._salt,
            variables=digests(self._served.variables(), identity.environment, self._salt),
        )

    async def _attach(self, client: _Client, wish: Wish, welcome: Welcome) -> None:
        try:
            may = wish.publishes and self._identity.publishes
            server = self._served.server(wish.model_copy(update={"publishes": may}))
        except ToolError as error:
            refused = welcome.model_copy(update={"refusal": error.message})
            await client.say(refused.model_dump_json().encode())
            return
        with self._counted(client):
            await client.say(welcome.model_dump_json().encode())
            await client.speak(server)

    async def _call(self, client: _Client, welcome: Welcome) -> None:
        """One call for the command line; who goes before it is answered cancels it."""
        with self._counted(client):
            await client.say(welcome.model_dump_json().encode())
            wish = await client.next_object()
            if wish is None:
                return
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.gone, tasks.cancel_scope)
                await client.say(_line(await self._served.call(wish)))
                tasks.cancel_scope.cancel()

    @contextmanager
    def _counted(self, client: _Client) -> Iterator[None]:
        self._clients.add(client)
        self._move()
        try:
            yield
        finally:
            self._clients.discard(client)
            self._move()

    def _move(self) -> None:
        self._moved.set()
        self._moved = anyio.Event()


def _line(answer: JsonObject) -> bytes:
    """The line that tells an answer; where JSON cannot write it, one that says so."""
    try:
        return dump_json(answer).encode()
    except ToolError as error:
        text = f"the tool was called, and its answer cannot be handed on: {error.message}"
        failed = Result.failed(ToolError(UPSTREAM_PROTOCOL, text))
        return dump_json(failed.as_mcp()).encode()


class _Client:
    """A connected client, as the standard streams that the SDK's server expects."""

    def __init__(self, stream: anyio.abc.SocketStream) -> None:
        self._stream = stream
        self._lines = lines_of(self._received)
        self._sending = anyio.Lock()

    async def _received(self) -> bytes:
        try:
            return await self._stream.receive(CHUNK)
        except GONE:
            return b""

    async def wish(self) -> Wish | None:
        """What the client wants; None if it does not say so in time and form."""
        with anyio.move_on_after(GREETING_SECONDS):
            try:
                return Wish.model_validate_json(await anext(self._lines, b""))
            except ValidationError:
                _log.debug("something that is no toolcrib connected")
        return None

    async def next_object(self) -> JsonObject | None:
        """The object that the next line writes; None if there is none."""
        try:
            value = parse_json((await anext(self._lines, b"")).decode("utf-8", "replace"))
        except ToolError:
            return None
        return value if isinstance(value, dict) else None

    async def gone(self, scope: anyio.CancelScope) -> None:
        """Cancel `scope` when the client goes."""
        async for _ in self._lines:
            pass
        scope.cancel()

    async def speak(self, server: CribServer) -> None:
        """Serve the client until it goes."""
        async with (
            stdio_server(self, self) as (raw_read, raw_write),  # type: ignore[arg-type]
            checked_streams(raw_read, raw_write) as (read, write, _),
        ):
            await server.run(read, write, server.create_initialization_options())

    async def say(self, line: bytes) -> None:
        """Send one line, whole."""
        async with self._sending:
            with suppress(*GONE):
                await self._stream.send(line + b"\n")

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._lines:
            yield request_line(line.decode("utf-8", "replace"))

    async def write(self, text: str) -> None:
        """Send what the SDK wrote: a line with its end."""
        await self.say(text.rstrip("\n").encode("utf-8", "replace"))

    async def flush(self) -> None:
        """Nothing: what is written is sent."""
