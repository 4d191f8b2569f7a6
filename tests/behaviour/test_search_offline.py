"""Searching without a network, as the command does it in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.registry.shelf import open_shelf, tool
from toolcrib_adapters.main import open_store
from toolcrib_adapters.settings import CribSettings

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = (
    tool("create_invoice", "Creates an invoice for a customer.", "billing"),
    tool("fetch_messages", "Fetches e-mail messages.", "mail"),
)
# Runs the command with every connection attempt written down; the kernel's own refusal in an empty
# network namespace is the second witness.
WATCHED = """
import sys
def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        sys.stderr.write(f"NETWORK {event} {arguments}\\n")
sys.addaudithook(watch)
sys.argv = ["toolcrib", *sys.argv[1:]]
from toolcrib_adapters.command import main
main()
"""


def can_cut_the_network() -> bool:
    if shutil.which("unshare") is None:
        return False
    return (
        subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode == 0
    )


async def stocked(home: Path) -> None:
    """A home with a catalogue and its whole index, as a running crib leaves it."""
    async with open_store(CribSettings(home=home)) as store:
        shelf = await open_shelf(home, store=store)
        await shelf.put(*TOOLS)
        await shelf.finish_vectors()


def found(home: Path, query: str, *, encoder: str, prefix: list[str]) -> list[str]:
    """The tools that the command finds; it must not have tried any connection."""
    environment = {**os.environ, "TOOLCRIB_ENCODER": encoder}
    command = [sys.executable, "-c", WATCHED, "search", "--json", "--home", str(home), query]
    done = subprocess.run(
        [*prefix, *command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "NETWORK" not in done.stderr
    answer = json.loads(done.stdout)
    return [hit["reference"] for hit in answer["results"][0]["hits"]]


@pytest.mark.promise("search-offline")
async def test_searching_opens_no_connection(tmp_path: Path) -> None:
    await stocked(tmp_path)
    meaning = found(tmp_path, "check my inbox", encoder="default", prefix=[])
    words = found(tmp_path, "create invoice", encoder="none", prefix=[])
    assert meaning[0] == "mail/fetch_messages@1.0.0"
    assert words[0] == "billing/create_invoice@1.0.0"


@pytest.mark.promise("search-offline")
@pytest.mark.skipif(not can_cut_the_network(), reason="`unshare -n` needs rights that are missing")
async def test_searching_works_where_there_is_no_network_at_all(tmp_path: Path) -> None:
    await stocked(tmp_path)
    cut = ["unshare", "-n"]
    meaning = found(tmp_path, "check my inbox", encoder="default", prefix=cut)
    missing = found(
        tmp_path, "create invoice", encoder="sentence-transformers:no/such-model", prefix=cut
    )
    assert meaning[0] == "mail/fetch_messages@1.0.0"
    assert missing[0] == "billing/create_invoice@1.0.0"
