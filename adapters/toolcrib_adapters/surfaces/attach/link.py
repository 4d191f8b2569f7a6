"""The way from a client to the running crib of its home; the first one starts it.

Processes that start at the same moment queue on a lock: one starts a crib, the others find it. The
crib is a process of its own, with no client as its parent, so that no client takes it along when it
ends. What is said on a link is `bridge.py`'s business.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import anyio.abc
from pydantic import ValidationError

from toolcrib_adapters.surfaces.attach.greeting import (
    GREETING_SECONDS,
    WIRE,
    Welcome,
    Wish,
)
from toolcrib_adapters.surfaces.attach.place import RunAlone, held, is_mine
from toolcrib_adapters.surfaces.standard_streams import CHUNK, lines_of
from toolcrib_protocol.errors import (
    INVALID_SETTINGS,
    SOURCE_UNAVAILABLE,
    ErrorKind,
    ToolError,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from toolcrib_adapters.surfaces.attach.place import Place

OPEN_SECONDS: Final = 120.0
"""How long a crib may take to start, the end of its predecessor included."""
_POLL_SECONDS: Final = 0.05
_LOG_BYTES: Final = 1_000_000
_TAIL_BYTES: Final = 2_000
_CRIB_MODULE: Final = "toolcrib_adapters.surfaces.cli.crib_process"
GONE: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError)
"""What a link that ends may raise."""


@dataclass(eq=False, slots=True)
class Link:
    """A greeted client's end of the socket.

    Attributes:
        welcome: what the crib said about itself.
        lines: what it says now.
        is_retiring: it ends; nothing new is to be sent.
    """

    stream: anyio.abc.SocketStream
    welcome: Welcome
    lines: AsyncIterator[bytes]
    is_retiring: bool = False
    is_broken: bool = False
    is_closing: bool = False

    def takes(self, *, is_request: bool) -> bool:
        """Whether a line may be sent."""
        return not (self.is_broken or (is_request and self.is_retiring))

    async def send(self, line: bytes) -> None:
        """Send a line.

        Raises:
            anyio.BrokenResourceError: and the like: the crib did not get the whole line.
        """
        await self.stream.send(line + b"\n")

    async def finish(self) -> None:
        """Say that nothing more comes; what the crib still says can be read."""
        if not self.is_closing:
            self.is_closing = True
            with suppress(*GONE):
                await self.stream.send_eof()


async def greeted(place: Place, wish: Wish) -> Link | None:
    """A link to the crib that listens at `place`, or None if none does.

    Raises:
        RunAlone: it cannot be attached to, but a crib of one's own can be run.
        ToolError: it refuses what was asked.
    """
    socket = place.known_socket
    if not is_mine(socket):
        return None
    with anyio.move_on_after(GREETING_SECONDS):
        try:
            stream = await anyio.connect_unix(os.fspath(socket))
        except OSError:
            return None
        welcome, lines = await _welcome(stream, wish)
        if welcome is None:
            await stream.aclose()
            return None
        if welcome.refusal is None:
            return Link(stream, welcome, lines)
        await stream.aclose()
        if welcome.may_run_alone:
            raise RunAlone(welcome.refusal)
        raise ToolError(INVALID_SETTINGS, welcome.refusal)
    text = (
        f"the running crib of {place.home} (process {place.owner().get('pid', '?')}) does not "
        f"answer within {GREETING_SECONDS:g} s; end it, or use --no-attach"
    )
    raise ToolError(SOURCE_UNAVAILABLE, text, ErrorKind.RETRYABLE)


async def _welcome(
    stream: anyio.abc.SocketStream, wish: Wish
) -> tuple[Welcome | None, AsyncIterator[bytes]]:
    async def receive() -> bytes:
        try:
            return await stream.receive(CHUNK)
        except GONE:
            return b""

    lines = lines_of(receive)
    try:
        await stream.send(wish.model_dump_json().encode() + b"\n")
        first = await anext(lines, b"")
        welcome = Welcome.model_validate_json(first)
    except GONE:
        return None, lines
    except ValidationError:
        # It ended before it answered, or it is no crib; either way nobody is there for us.
        return None, lines
    if welcome.wire != WIRE:
        raise RunAlone(f"the running crib is toolcrib {welcome.version}, of another form")
    return welcome, lines


async def open_link(place: Place, wish: Wish) -> Link:
    """A link to the one running crib of `place`, which is started if there is none.

    Raises:
        RunAlone: a crib of one's own can be run instead.
        ToolError: no crib can be reached or started; says why.
    """
    place.make_home()
    with anyio.move_on_after(OPEN_SECONDS):
        while True:
            link = await greeted(place, wish)
            if link is not None:
                return link
            async with turn(place):
                link = await greeted(place, wish)
                if link is not None:
                    return link
                await _start(place)
    raise ToolError(
        SOURCE_UNAVAILABLE,
        f"no crib of {place.home} could be reached or started within {OPEN_SECONDS:g} s; "
        f"{place.log} tells more, --no-attach runs one for this client alone",
        ErrorKind.RETRYABLE,
    )


@asynccontextmanager
async def turn(place: Place) -> AsyncIterator[None]:
    """The right to start a crib, one client at a time."""
    while True:
        with held(place.starting) as is_mine_now:
            if is_mine_now:
                yield
                return
        await anyio.sleep(_POLL_SECONDS)


async def _start(place: Place) -> None:
    """Start a crib and return once it listens, or once another one does.

    Raises:
        ToolError: it cannot start.
    """
    reader, writer = os.pipe()
    try:
        await anyio.to_thread.run_sync(_spawn, place, writer)
    finally:
        os.close(writer)
    try:
        said = await _everything(reader)
    finally:
        os.close(reader)
    try:
        outcome = json.loads(said)
    except ValueError:
        outcome = {"error": {"message": f"the crib ended while it started: {_tail(place.log)}"}}
    error = outcome.get("error")
    if error:
        code, kind = error.get("code", SOURCE_UNAVAILABLE), error.get("kind", "fatal")
        raise ToolError(code, error["message"], ErrorKind(kind), error.get("details"))


def _spawn(place: Place, writer: int) -> None:
    _turn_over(place.log)
    descriptor = os.open(place.log, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
    # `-P`: the folder it starts in must not be searched for modules.
    crib = [sys.executable, "-P", "-m", _CRIB_MODULE, os.fspath(place.home), str(writer)]
    try:
        # The shell leaves at once and so leaves the crib to the system: programs that end a client
        # together with all its descendants do not find it.
        starter = subprocess.Popen(  # noqa: S603 - our own interpreter
            ["/bin/sh", "-c", '"$@" &', "sh", *crib],
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            pass_fds=(writer,),
            cwd=start_folder(),
            start_new_session=True,
        )
        starter.wait(GREETING_SECONDS)
    finally:
        os.close(descriptor)


def start_folder() -> str:
    """Where a shared crib runs, whichever client started it."""
    try:
        home = Path.home()
    except RuntimeError:  # a user without one
        return "/"
    return os.fspath(home) if home.is_dir() else "/"


def _turn_over(log: Path) -> None:
    with suppress(OSError):
        if log.stat().st_size > _LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))


async def _everything(reader: int) -> bytes:
    pieces: list[bytes] = []
    while True:
        await anyio.wait_readable(reader)
        piece = os.read(reader, CHUNK)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)


def _tail(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return "it said nothing"
    lines = text.strip().splitlines()
    return lines[-1] if lines else "it said nothing"


async def ask(place: Place, wish: Wish) -> Welcome | None:
    """What the running crib answers to a wish that is not to attach; None if none runs.

    Raises:
        ToolError: it refuses or does not answer.
    """
    try:
        link = await greeted(place, wish)
    except RunAlone as reason:
        raise ToolError(INVALID_SETTINGS, str(reason)) from None
    if link is None:
        return None
    await link.stream.aclose()
    return link.welcome
