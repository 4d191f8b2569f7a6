"""Keys and lost calls over several processes: `toolcrib call --key`, `toolcrib ledger`."""

from __future__ import annotations

from dataclasses import replace
from subprocess import PIPE
from typing import TYPE_CHECKING

import anyio
import pytest
from anyio import to_thread

from tests.adapters.cli.running import COMMAND, Shell
from tests.docs_blocks import block_to_run
from toolcrib_protocol.json_value import dump_json, parse_json

if TYPE_CHECKING:
    from pathlib import Path

    from anyio.abc import Process, SocketListener

SHOP = '''
import socket
from toolcrib_protocol.function_tool import tool

@tool
def order(item: str, book: str, door: str = "") -> int:
    """Order something, and wait at the door.

    Args:
        item: what.
        book: where orders are written down.
        door: a socket; the order ends when it is closed.
    """
    with open(book, "a") as file:
        file.write(item + "\\n")
    with open(book) as file:
        number = len(file.readlines())
    if door:
        with socket.socket(socket.AF_UNIX) as waiting:
            waiting.connect(door)
            waiting.recv(1)
    return number
'''
PATIENCE = 90


@pytest.fixture(params=["sqlite", "postgres"])
def shop(request: pytest.FixtureRequest, shell: Shell, tmp_path: Path) -> Shell:
    """A shell whose crib can order; orders are written down by the shop itself."""
    if request.param == "postgres":
        shell = replace(shell, database=request.getfixturevalue("postgres_url"))
    file = tmp_path / "shop.py"
    file.write_text(SHOP, encoding="utf-8")
    assert shell.run("add", "shop", "--python", str(file)).code == 0
    return shell


def orders(folder: Path) -> list[str]:
    return (folder / "book").read_text("utf-8").splitlines()


def wanted(folder: Path, *, waits: bool = True) -> str:
    """The arguments of an order."""
    door = {"door": str(folder / "door")} if waits else {}
    return dump_json({"item": "tea", "book": str(folder / "book"), **door})


async def begun(shell: Shell, arguments: str, *more: str) -> Process:
    """A process that orders."""
    words = ("call", "shop/order", arguments, "--json", "--no-attach", *more)
    return await anyio.open_process([*COMMAND, *words], env=shell.environment, stdout=PIPE)


async def said(process: Process) -> object:
    assert process.stdout is not None
    text = b"".join([chunk async for chunk in process.stdout])
    await process.wait()
    return parse_json(text)


async def opened(folder: Path) -> SocketListener:
    return await anyio.create_unix_listener(folder / "door")


async def killed_in_the_middle(shop: Shell, folder: Path, *words: str) -> None:
    """Order, and kill the crib when the order has been written down by the shop."""
    (folder / "door").unlink(missing_ok=True)
    with anyio.fail_after(PATIENCE):
        async with await opened(folder) as door:
            process = await begun(shop, *words)
            async with await door.accept():
                process.kill()
                await process.wait()


@pytest.mark.promise("ledger-dead-owner")
@pytest.mark.promise("ledger-intent-first")
@pytest.mark.promise("field-o45-keys")
def test_a_call_whose_process_was_killed_is_unknown_until_it_is_settled(
    shop: Shell, tmp_path: Path
) -> None:
    ordered = wanted(tmp_path)
    anyio.run(killed_in_the_middle, shop, tmp_path, ordered, "--key", "order-17")
    anyio.run(killed_in_the_middle, shop, tmp_path, ordered)

    again = shop.spawn("call", "shop/order", ordered, "--key", "order-17", "--json")
    assert again.code == 4
    assert again.document["error"]["code"] == "outcome_unknown"
    assert len(orders(tmp_path)) == 2

    listed = shop.run("ledger", "list", "--unknown", "--json").document["entries"]
    assert {(entry["key"], entry["state"], entry["tool"]) for entry in listed} == {
        ("order-17", "unknown", "shop/order"),
        (None, "unknown", "shop/order"),
    }
    without_key = next(entry["id"] for entry in listed if entry["key"] is None)
    assert shop.run("ledger", "settle", without_key, "--done").code == 0
    shown, settled = (line.split()[1:] for line in block_to_run("settle-a-lost-call").splitlines())
    assert "order-17" in shop.run(*shown).out
    done = shop.run(*settled, "--json")
    assert done.document["settled"]["state"] == "not done"
    assert "no call is of unknown outcome" in shop.run("ledger", "list", "--unknown").err

    plain = wanted(tmp_path, waits=False)
    done = shop.spawn("call", "shop/order", plain, "--key", "order-17", "--json")
    replayed = shop.spawn("call", "shop/order", plain, "--key", "order-17", "--json")
    other = shop.spawn("call", "shop/order", ordered, "--key", "order-17", "--json")
    assert done.document["data"] == replayed.document["data"]
    assert "io.toolcrib/replayed" in replayed.document["meta"]
    assert other.document["error"]["code"] == "key_conflict"
    assert len(orders(tmp_path)) == 3
    assert "order-17" in shop.run("ledger", "list").out


@pytest.mark.promise("ledger-once-per-key")
async def test_duplicates_from_several_processes_at_once_make_one_order(
    shop: Shell, tmp_path: Path
) -> None:
    answers: list[object] = []
    ordered = wanted(tmp_path)

    async def call() -> None:
        answers.append(await said(await begun(shop, ordered, "--key", "k")))

    with anyio.fail_after(PATIENCE):
        async with await opened(tmp_path) as door, anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(call)
            async with await door.accept():
                # One more, while the first is surely under way.
                tasks.start_soon(call)
                await to_thread.run_sync(shop.run, "ledger", "list")

    assert [answer["data"] for answer in answers if isinstance(answer, dict)] == [{"result": 1}] * 4
    assert orders(tmp_path) == ["tea"]


@pytest.mark.promise("cli-ledger")
def test_what_cannot_be_settled_is_refused_with_what_would_be_right(shell: Shell) -> None:
    refused = shell.run("ledger", "settle", "order-17", "--done")
    assert refused.code == 1
    assert "no lost call has the key or id 'order-17'" in refused.err
    assert "the ledger is empty" in shell.run("ledger", "list").err
    assert shell.run("ledger", "settle", "order-17").code == 2
