"""`toolcrib profile` and the endpoints that `serve` and `groups` tell of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.adapters.cli.running import COMMAND

if TYPE_CHECKING:
    from tests.adapters.cli.running import Shell


@pytest.fixture
def stocked(shell: Shell, mail: str) -> Shell:
    assert shell.run("publish", mail, "--source", "mail").code == 0
    return shell


@pytest.mark.promise("cli-profiles")
def test_a_profile_is_made_changed_shown_and_taken_away(stocked: Shell) -> None:
    made = stocked.run(
        *("profile", "create", "phone", "--title", "Phone", "--group", "mail", "--mode", "dynamic"),
        *("--pin", "mail__send_letter", "--timeout", "20", "--calls-at-once", "2", "--json"),
    )
    assert (made.code, made.document) == (
        0,
        {
            "name": "phone",
            "path": "/mcp/profile/phone",
            "title": "Phone",
            "description": "",
            "mode": "dynamic",
            "groups": ["mail"],
            "pins": ["mail/send_letter"],
            "timeout_seconds": 20.0,
            "calls_at_once": 2,
            "tools": 2,
        },
    )
    changes = ("--all-groups", "--no-pins", "--timeout", "0", "--calls-at-once", "0")
    edited = stocked.run("profile", "edit", "phone", *changes, "--mode", "full", "--json").document
    assert edited == {
        **made.document,
        "groups": None,
        "pins": [],
        "mode": "full",
        "timeout_seconds": None,
        "calls_at_once": None,
    }
    shown = stocked.run("profile", "show", "phone", "--json").document
    tokens = shown.pop("tokens")
    assert shown == edited
    assert 0 < tokens["full"] < 200 < tokens["dynamic"] < 1_000
    assert "about" in stocked.run("profile", "show", "phone").out
    listed = stocked.run("profile", "list", "--json").document["profiles"]
    assert [row["name"] for row in listed] == ["default", "phone"]
    assert stocked.run("profile", "remove", "phone", "--json").document == {"removed": ["phone"]}
    assert stocked.run("profile", "show", "phone").code == 1


@pytest.mark.promise("cli-profiles")
def test_the_default_profile_is_that_of_the_plain_endpoint(stocked: Shell) -> None:
    assert stocked.run("profile", "show", "default", "--json").document["path"] == "/mcp"
    assert stocked.run("profile", "edit", "default", "--mode", "dynamic").code == 0
    assert stocked.run("profile", "show", "default", "--json").document["mode"] == "dynamic"
    assert stocked.run("profile", "remove", "default").code == 0
    assert stocked.run("profile", "show", "default", "--json").document["mode"] == "auto"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("create", "default 2"), "cannot name a profile"),
        (("create", "two", "--pin", "mail__sent_letter"), "mail__send_letter"),
        (("create", "two", "--timeout", "-1"), "cannot limit calls to -1 s"),
        (("create", "two", "--timeout", "nan"), "cannot limit calls to nan s"),
        (("create", "two", "--calls-at-once", "0"), "cannot run 0 calls"),
        (("create", "one"), "there is a profile 'one' already"),
        (("edit", "ome"), "no profile is called 'ome'; did you mean one?"),
        (("remove", "zzzzzz"), "`toolcrib profile list` lists them"),
        (("show", "ome"), "did you mean one?"),
    ],
)
@pytest.mark.promise("cli-profiles")
def test_what_cannot_be_is_refused_with_what_would_help(
    stocked: Shell, words: tuple[str, ...], told: str
) -> None:
    stocked.run("profile", "create", "one")
    before = stocked.run("profile", "list", "--json").out
    done = stocked.run("profile", *words)
    assert done.code == 1
    assert told in done.err
    assert stocked.run("profile", "list", "--json").out == before


def test_a_group_there_is_not_yet_is_taken_and_told(stocked: Shell) -> None:
    done = stocked.run("profile", "create", "two", "--group", "mial", "--group", "later")
    assert done.code == 0
    assert "there is no group 'mial' yet; did you mean mail?" in done.err
    assert "there is no group 'later' yet" in done.err
    told = stocked.run("profile", "show", "two")
    assert "mial, later" in told.out
    assert "mial, later" in stocked.run("profile", "list").out


def test_groups_tell_where_each_is_served(stocked: Shell) -> None:
    (row,) = stocked.run("groups", "--json").document["groups"]
    assert (row["name"], row["path"]) == ("mail", "/mcp/mail")
    assert "/mcp/mail" in stocked.run("groups").out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--group", "mail"), "only with --stdio; over HTTP it is served at /mcp/mail"),
        (("--profile", "one"), "served at /mcp/profile/one"),
        (("--stdio", "--group", "mail", "--profile", "one"), "leave one out"),
        (("--stdio", "--group", "mail", "--mode", "full"), "leave one out"),
    ],
)
def test_options_of_serve_that_say_nothing_are_wrong_usage(
    shell: Shell, words: tuple[str, ...], told: str
) -> None:
    done = shell.run("serve", *words)
    assert done.code == 2
    assert told in " ".join(done.err.replace("│", " ").split())


def test_an_unknown_group_or_profile_on_standard_streams_is_refused(stocked: Shell) -> None:
    group = stocked.run("serve", "--stdio", "--group", "mial")
    profile = stocked.run("serve", "--stdio", "--profile", "defualt")
    assert (group.code, profile.code) == (1, 1)
    assert "no group is called 'mial'; did you mean mail" in group.err
    assert "no profile is called 'defualt'; did you mean default" in profile.err


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.promise("endpoint-group-list")
async def test_a_client_starts_the_crib_for_one_group_over_standard_streams(
    shell: Shell, waiting: str, mode: str
) -> None:
    await anyio.to_thread.run_sync(lambda: shell.run("add", "wait", "--python", waiting))
    program, *words = COMMAND
    server = StdioServerParameters(
        command=program,
        args=[*words, "serve", "--stdio", "--group", "wait"],
        env=dict(shell.environment),
    )
    with anyio.fail_after(90):
        async with Client(server, mode=mode) as client:
            listed = await client.list_tools()
            answer = await client.call_tool("fail", {})
    assert [tool.name for tool in listed.tools] == ["fail", "wait_for"]
    assert answer.is_error
    assert "as it was told" in str(answer.content)


@pytest.mark.promise("endpoint-group-list")
async def test_serving_tells_where_each_group_is_and_follows_other_processes(
    shell: Shell, mail: str
) -> None:
    await anyio.to_thread.run_sync(lambda: shell.run("publish", mail, "--source", "mail"))
    async with shell.serving() as (url, _):
        async with Client(f"{url}/mail") as client:
            listed = await client.list_tools()
        create = ("profile", "create", "mine", "--group", "mail", "--mode", "full")
        await anyio.to_thread.run_sync(lambda: shell.run(*create))
        async with httpx2.AsyncClient() as http:
            with anyio.fail_after(20):
                while (await http.post(f"{url}/profile/mine", json={})).status_code == 404:
                    await anyio.lowlevel.checkpoint()
        async with Client(f"{url}/profile/mine") as client:
            shown = await client.list_tools()
    assert [tool.name for tool in listed.tools] == ["list_letters", "send_letter"]
    names = [tool.name for tool in shown.tools]
    assert names == ["mail__list_letters", "mail__send_letter", "read_result"]
