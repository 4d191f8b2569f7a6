"""`toolcrib refresh`: beside a crib that serves, and alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

if TYPE_CHECKING:
    from tests.adapters.cli.running import Shell

MORE = '''

@tool(read_only=True)
def more() -> str:
    """Say more."""
    return "more"
'''


@pytest.mark.promise("refresh-now")
def test_alone_the_command_connects_and_tells_what_changed(
    shell: Shell, mail: str, waiting: str
) -> None:
    assert shell.run("add", "mail", "--snapshot", mail).code == 0
    assert shell.run("add", "wait", "--python", waiting).code == 0
    tools = json.loads(Path(mail).read_text(encoding="utf-8"))["tools"]
    tools[0]["description"] = "Other words."
    Path(mail).write_text(json.dumps({"tools": tools[:1]}), encoding="utf-8")

    done = shell.run("refresh", "mail", "--json")

    assert done.code == 0, done.err
    assert done.document["sources"] == [
        {
            "source": "mail",
            "status": "ready",
            "reason": "",
            "asked_by": "this command",
            "added": [],
            "changed": [{"tool": "mail/send_letter@1.0.1", "before": "1.0.0"}],
            "removed": ["mail/list_letters"],
            "quarantined": 0,
        }
    ]
    Path(waiting).write_text(Path(waiting).read_text(encoding="utf-8") + MORE, encoding="utf-8")
    told = shell.run("refresh")
    assert "+ wait/more@1.0.0" in told.out
    assert "mail    ready" in told.out


def test_an_unknown_source_is_named_and_a_dead_one_ends_without_success(shell: Shell) -> None:
    assert shell.run("add", "gone", "--no-connect", "--", "no-such-command").code == 0
    assert "did you mean gone?" in shell.run("refresh", "goen").err
    dead = shell.run("refresh")
    assert (dead.code, "no-such-command" in dead.out) == (3, True)


@pytest.mark.promise("refresh-now")
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_crib_that_serves_asks_its_sources_over_the_connections_it_has(
    shell: Shell, mail: str, waiting: str, kind: str, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgres_url") if kind == "postgres" else None
    shell = type(shell)(shell.home, database=url)

    async def spawn(*words: str) -> Any:
        done = await anyio.to_thread.run_sync(shell.spawn, *words)
        assert done.code in {0, 3}, done.err
        return done.document

    await spawn("add", "mail", "--snapshot", mail, "--json")
    await spawn("add", "gone", "--json", "--no-connect", "--", "no-such-command")
    async with shell.serving() as (_, process):
        rows: list[dict[str, str]] = []
        with anyio.fail_after(60):
            while not rows or "this command" in str(rows):
                rows = (await spawn("refresh", "--json"))["sources"]
        told = [(row["source"], row["status"], row["asked_by"]) for row in rows]
        assert told == [
            ("gone", "failed", "a running crib"),
            ("mail", "ready", "a running crib"),
        ]
        # A crib that was killed says nothing any more, and is not waited for without an end.
        process.kill()
        await process.wait()
        (row,) = (await spawn("refresh", "mail", "--json", "--timeout", "1"))["sources"]
        assert row["status"] == "failed"
        assert "did not answer within 1 s" in row["reason"]
