"""Clients that find something on the socket that is no crib of their own kind."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
import pytest

from tests.adapters.cli.clients import client
from toolcrib_adapters.surfaces.attach.greeting import Welcome, Wish
from toolcrib_adapters.surfaces.attach.link import ask
from toolcrib_adapters.surfaces.attach.place import Place, RunAlone, held
from toolcrib_protocol.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.adapters.cli.running import Shell


@asynccontextmanager
async def listening(shell: Shell, said: bytes) -> AsyncIterator[Place]:
    """Somebody who holds the home's lock and says one line to whoever connects."""
    place = Place(shell.home)
    place.make_home()

    async def speak(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(said + b"\n")
            with anyio.move_on_after(60), suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                while await stream.receive():
                    pass

    listener = await anyio.create_unix_listener(place.socket)
    with held(place.lock, {"pid": 1, "socket": str(place.socket)}):
        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, speak)
            yield place
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()


def welcome(**facts: Any) -> bytes:
    return Welcome.model_validate({"pid": 4711, **facts}).model_dump_json().encode()


@pytest.mark.promise("attach-versions")
async def test_a_crib_of_another_version_is_attached_to_and_named(shell: Shell) -> None:
    said = json.loads(welcome(version="99.1", settings={"TOOLCRIB_ENCODER": "other"}))
    async with (
        listening(shell, json.dumps({**said, "unheard_of": [1]}).encode()),
        client(shell) as member,
    ):
        assert await member.leave() == 0
        told = await member.told()
    assert "toolcrib 99.1" in told
    assert "kill 4711" in told
    assert "TOOLCRIB_ENCODER=other" in told


@pytest.mark.promise("attach-versions")
async def test_a_client_runs_alone_beside_a_crib_of_another_form(shell: Shell) -> None:
    async with listening(shell, welcome(wire=2, version="99.1")), client(shell) as member:
        answer = await member.shake_hands()
        assert answer["result"]["serverInfo"]["name"] == "toolcrib"
        await member.leave()
        assert "a crib of its own" in await member.told()


async def test_answers_are_told_apart(shell: Shell) -> None:
    wish = Wish(ask="status")
    assert await ask(Place(shell.home), wish) is None
    async with listening(shell, b"HTTP/1.1 400 Bad Request") as place:
        assert await ask(place, wish) is None
    async with listening(shell, welcome(refusal="not for you")) as place:
        with pytest.raises(ToolError, match="not for you"):
            await ask(place, wish)
    async with listening(shell, welcome(refusal="no", may_run_alone=True)) as place:
        with pytest.raises(ToolError, match="no"):
            await ask(place, wish)
    async with listening(shell, welcome(version="1")) as place:
        found = await ask(place, wish)
    assert found is not None
    assert found.pid == 4711
    assert issubclass(RunAlone, Exception)


@pytest.mark.promise("attach-versions")
async def test_the_doctor_names_a_crib_of_another_version(shell: Shell) -> None:
    await anyio.to_thread.run_sync(lambda: shell.spawn("sources"))  # makes the catalogue
    async with listening(shell, welcome(version="99.1", variables={"SOME_TOKEN": "x"})):
        done = await anyio.to_thread.run_sync(lambda: shell.spawn("doctor", "--json"))
    checks = {finding["check"]: finding["text"] for finding in done.document["findings"]}
    assert "99.1" in checks["version"]
    assert "SOME_TOKEN" in checks["variables"]
