"""`toolcrib limits`, beside a crib that serves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import pytest

from toolcrib_adapters.stores.sql.database import open_database
from toolcrib_adapters.stores.sql.schema_version import migrate
from toolcrib_adapters.stores.sql.sql_limits import SqlLimits
from toolcrib_client import Crib
from toolcrib_registry.limits import GateState

if TYPE_CHECKING:
    from pathlib import Path

    from tests.adapters.cli.running import Finished, Shell

LEARNED = GateState(scope="source:desk", cap=5, cap_set=8, halvings=2, rate_when_refused=10.0)


async def run(shell: Shell, *words: str) -> Finished:
    return await anyio.to_thread.run_sync(lambda: shell.run(*words))


async def shown(shell: Shell) -> list[dict[str, Any]]:
    """What is shown as soon as a call has ended."""
    while True:
        done = await run(shell, "limits", "--json")
        assert done.code == 0, done.err
        found: list[dict[str, Any]] = done.document["limits"]
        if found and "latency_seconds" in found[-1]:
            return found


@pytest.mark.promise("cli-limits")
async def test_how_the_gates_of_a_serving_crib_stand_is_shown_by_another_process(
    shell: Shell, waiting: str, tmp_path: Path
) -> None:
    assert (await run(shell, "add", "wait", "--python", waiting)).code == 0
    await run(shell, "rules", "set", "group:wait", "max_concurrency=3", "burst=2")
    assert "no running crib has called a tool yet" in (await run(shell, "limits")).err
    async with shell.serving() as (url, _):
        with anyio.fail_after(90):
            async with Crib(url) as crib:
                await crib.call("wait/wait_for", {"path": str(tmp_path), "seconds": 0})
            group, source = await shown(shell)
        assert (group["scope"], source["scope"]) == ("group:wait", "source:wait")
        assert (group["cap"], group["cap_by"], group["running"]) == (3, "rules", 0)
        assert group["why"] == "at most 3 at once by rules, for all processes together"
        assert (source["cap"], source["cap_by"]) == (8, "default")
        assert source["latency_seconds"] >= 0
        told = (await run(shell, "limits", "source:wait")).out
        assert "source:wait" in told
        assert "group:wait" not in told
        assert "nothing to suggest" in (await run(shell, "limits", "suggest")).err
        document = (await run(shell, "limits", "suggest", "--apply", "--json")).document
        assert document == {"suggestions": [], "applied": True}
        async with httpx2.AsyncClient() as client:
            numbers = (await client.get(url.replace("/mcp", "/metrics"))).text
        assert 'toolcrib_gate_cap{gate="group:wait"} 3.0' in numbers
        assert 'toolcrib_gate_refused_total{gate="source:wait"} 0.0' in numbers


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("mail",), "tool:GROUP/NAME"),
        (("suggest", "mail"), "tool:GROUP/NAME"),
        (("source:a", "source:b"), "one scope at a time"),
        (("source:a", "--apply"), "only `toolcrib limits suggest` can be applied"),
    ],
)
def test_a_scope_that_is_none_is_refused(shell: Shell, words: tuple[str, ...], told: str) -> None:
    refused = shell.run("limits", *words)
    assert (refused.code, told in refused.err) == (1, True)


@pytest.mark.promise("limits-suggest")
async def test_what_is_suggested_is_told_as_a_command_and_set_on_demand(shell: Shell) -> None:
    database = open_database(None, shell.home)
    migrate(database)
    await SqlLimits(database).tell("a", [LEARNED.as_json(), {"odd": True}], 600)
    database.engine.dispose()
    done = await run(shell, "limits", "suggest")
    command = "toolcrib rules set source:desk max_concurrency=4 calls_per_second=8.0"
    assert done.out == f"{command}\n"
    assert "because it bears 5 calls at once" in done.err
    assert (await run(shell, *command.split()[1:], "--json")).code == 0
    await run(shell, "rules", "drop", "source:desk")
    assert (await run(shell, "limits", "suggest", "source:desk", "--apply")).code == 0
    rules = (await run(shell, "rules", "list", "--json")).document["rules"]
    assert rules == {"source:desk": {"max_concurrency": 4, "calls_per_second": 8.0}}
