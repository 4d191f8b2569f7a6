"""The commands of whoever operates a crib: overlays and groups."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from toolcrib_client import Crib
from toolcrib_protocol.errors import ToolError

if TYPE_CHECKING:
    from tests.adapters.cli.running import Shell


@pytest.fixture
def filled(shell: Shell, mail: str, waiting: str) -> Shell:
    assert shell.run("add", "mail", "--snapshot", mail).code == 0
    assert shell.run("add", "wait", "--python", waiting).code == 0
    return shell


@pytest.mark.promise("overlay-commands")
def test_an_overlay_is_laid_in_parts_shown_and_taken_away_again(filled: Shell) -> None:
    first = filled.run(
        *("overlay", "mail/send_letter", "--when-to-use", "For paper. 📬", "--not-read-only"),
        *("--idempotent", "--timeout", "5", "--example", "post this", "--json"),
    )
    assert first.code == 0, first.err
    assert (first.document["before"], first.document["version"]) == ("1.0.0", "1.1.0")

    second = filled.run("overlay", "mail__send_letter", "--preset", "to=Ana", "--title", "Post")
    assert "version 2.0.0 (it was 1.1.0)" in second.err
    shown = filled.run("show", "mail/send_letter", "--json").document
    assert shown["overlay"] == {
        "title": "Post",
        "when_to_use": "For paper. 📬",
        "examples": [{"request": "post this"}],
        "read_only": False,
        "idempotent": True,
        "timeout_seconds": 5.0,
        "presets": {"to": "Ana"},
    }
    assert "to" not in shown["contract"].get("input_schema", {}).get("properties", {})
    assert shown["presets"] == {"to": "Ana"}
    assert "overlay         {" in filled.run("show", "mail/send_letter").out
    (row,) = filled.run("overlays", "--json").document["overlays"]
    assert (row["tool"], row["state"]) == ("mail/send_letter", "version 2.0.0")
    assert "For paper" in filled.run("overlays").out
    found = filled.run("search", "paper", "--json").document["results"][0]["hits"]
    assert found[0]["reference"] == "mail/send_letter@2.0.0"

    assert filled.run("overlay", "mail/send_letter", "--preset", "to=7").code == 0
    assert filled.run("show", "mail/send_letter", "--json").document["presets"] == {"to": "7"}
    assert filled.run("overlay", "mail/send_letter", "--unset", "presets").code == 0
    assert "presets" not in filled.run("overlays", "--json").document["overlays"][0]["overlay"]
    cleared = filled.run("overlay", "mail/send_letter", "--clear")
    assert "version 1.0.0" in cleared.err
    assert "no overlays" in filled.run("overlays").err
    assert "nothing to change" in filled.run("overlay", "mail/send_letter", "--clear").err


@pytest.mark.promise("overlay-declares")
def test_what_mcp_has_no_words_for_is_declared_on_the_command_line(filled: Shell) -> None:
    laid = filled.run(
        *("overlay", "mail/send_letter", "--idempotency-key", "argument:to"),
        *("--error", "busy=retryable", "--degraded", '{"result": null}'),
        *("--batch", "send_letters:letters", "--json"),
    )
    assert laid.code == 0, laid.err
    assert laid.document["overlay"] == {
        "idempotency_key": {"place": "argument", "name": "to"},
        "errors": [{"code": "busy", "kind": "retryable"}],
        "degraded": {},
        "batch": {"tool": "send_letters", "items_argument": "letters"},
    }
    more = filled.run("overlay", "mail/send_letter", "--error", "lost=fatal", "--json")
    assert [error["code"] for error in more.document["overlay"]["errors"]] == ["busy", "lost"]


@pytest.mark.parametrize(
    ("option", "value", "complaint"),
    [
        ("--idempotency-key", "argument", "is not PLACE:NAME"),
        ("--error", "busy", "is not CODE=KIND"),
        ("--error", "busy=later", "errors"),
        ("--degraded", "{", "--degraded"),
        ("--batch", "many", "is not TOOL:ARGUMENT"),
    ],
)
def test_a_declaration_that_cannot_be_read_is_refused(
    filled: Shell, option: str, value: str, complaint: str
) -> None:
    refused = filled.run("overlay", "mail/send_letter", option, value)
    assert refused.code != 0
    assert complaint in refused.err


@pytest.mark.promise("overlay-hides")
def test_a_hidden_tool_is_shown_to_the_operator_only(filled: Shell) -> None:
    hidden = filled.run("overlay", "wait/fail", "--hide")
    assert "--show` offers it again" in hidden.err
    assert "wait/fail" not in filled.run("tools").out
    assert "wait/fail" in filled.run("tools", "--all").out
    assert "neither found nor called" in filled.run("show", "wait/fail").out
    assert filled.run("overlays", "--json").document["overlays"][0]["state"] == "hidden"
    hits = filled.run("search", "fail", "--json").document["results"][0]["hits"]
    assert [hit["reference"] for hit in hits if "fail" in hit["reference"]] == []
    called = filled.run("call", "wait/fail", "--json")
    assert called.document["error"]["code"] == "unknown_tool"
    assert filled.run("overlay", "wait/fail", "--show").code == 0
    assert "wait/fail" in filled.run("tools").out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["mail/send_letter"], "say what to lay over the tool"),
        (["mail/send_leter", "--hide"], "the nearest names are mail__send_letter"),
        (["mail/send_letter@^1", "--hide"], "an overlay is for all versions"),
        (["mail/send_letter", "--preset", "from=me"], "unknown argument 'from'"),
        (
            ["wait/wait_for", "--preset", "seconds=long"],
            "at /seconds: expected type number",
        ),
        (["mail/send_letter", "--preset", "to"], "is not NAME=VALUE"),
        (["mail/send_letter", "--unset", "titel"], "an overlay has no part 'titel'"),
        (["mail/send_letter", "--timeout", "0"], "wrong at timeout_seconds"),
        (["mail/send_letter", "--example", '{"request": 3}'], "wrong at examples/0/request"),
        (["mail/send_letter", "--example", "{"], "not valid JSON"),
    ],
)
def test_an_overlay_that_cannot_be_is_refused_with_the_reason(
    filled: Shell, words: list[str], reason: str
) -> None:
    done = filled.run("overlay", *words)
    assert done.code in {1, 2}
    assert reason in done.err
    assert filled.run("overlays", "--json").document == {"overlays": []}


@pytest.mark.promise("overlay-misfit-holds")
def test_a_tool_whose_overlay_no_longer_fits_is_told_with_its_source(
    filled: Shell, mail: str, waiting: str
) -> None:
    assert filled.run("overlay", "wait/wait_for", "--preset", "seconds=1").code == 0
    text = Path(waiting).read_text(encoding="utf-8")
    Path(waiting).write_text(text.replace("seconds", "patience"), encoding="utf-8")
    assert filled.run("add", "wait", "--python", waiting).code == 0

    rows = {row["name"]: row for row in filled.run("sources", "--json").document["sources"]}
    assert (rows["wait"]["held"], rows["wait"]["tools"], rows["mail"]["held"]) == (1, 1, 0)
    state = filled.run("overlays", "--json").document["overlays"][0]["state"]
    assert state.startswith("held: its overlay does not fit: it presets what wait/wait_for")
    shown = filled.run("show", "wait/wait_for")
    assert "held (its overlay does not fit" in shown.out
    mended = filled.run("overlay", "wait/wait_for", "--unset", "presets", "--title", "Wait")
    assert (mended.code, "version" in mended.err) == (0, True)
    assert filled.run("sources", "--json").document["sources"][1]["held"] == 0


@pytest.mark.promise("groups-across-sources")
def test_a_group_is_made_filled_described_emptied_and_dropped(filled: Shell) -> None:
    made = filled.run(
        *("group", "create", "office", "mail/send_letter", "--title", "Büro", "--json"),
    )
    assert made.code == 0, made.err
    assert made.document["members"] == [
        {"tool": "mail/send_letter", "at_home": False, "callable": True}
    ]
    added = filled.run("group", "add", "office", "wait__fail")
    assert "wait/fail" in added.out
    told = filled.run("group", "describe", "office", "--description", "Letters and waiting.")
    assert "Letters and waiting." in told.out
    (row,) = [
        row for row in filled.run("groups", "--json").document["groups"] if row["name"] == "office"
    ]
    assert (row["tools"], row["description"]) == (2, "Letters and waiting.")
    assert "wait/fail" in filled.run("tools", "-g", "office").out
    assert filled.run("overlay", "wait/fail", "--hide").code == 0
    assert "may not be called now" in filled.run("group", "describe", "office").out
    left = filled.run("group", "remove", "office", "mail/send_letter", "--json").document
    assert [member["tool"] for member in left["members"]] == ["wait/fail"]
    assert filled.run("group", "drop", "office", "--json").document == {"dropped": "office"}
    assert filled.run("group", "create", "plain").code == 0
    assert "dropped: plain" in filled.run("group", "drop", "plain").err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["create", "mail"], "there is a group 'mail' already"),
        (["create", "off ice"], "off ice"),
        (["create", "office", "mail/send"], "no tool is called 'mail/send'"),
        (["add", "ofice", "mail/send_letter"], "no group is called 'ofice'"),
        (["remove", "mail", "mail/send_letter"], "is at home in 'mail'"),
        (["describe", "mial"], "did you mean mail?"),
        (["drop", "mail"], "home group of the source 'mail'"),
    ],
)
def test_a_group_that_cannot_be_is_refused_with_the_reason(
    filled: Shell, words: list[str], reason: str
) -> None:
    done = filled.run("group", *words)
    assert (done.code, reason in done.err) == (1, True), done.err


@pytest.mark.promise("overlay-commands")
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_overlays_and_groups_of_other_processes_are_served_at_once(
    shell: Shell, waiting: str, tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgres_url") if kind == "postgres" else None
    shell = type(shell)(shell.home, database=url)

    async def spawn(*words: str) -> None:
        done = await anyio.to_thread.run_sync(shell.spawn, *words)
        assert done.code == 0, done.err

    await spawn("add", "wait", "--python", waiting)
    flag = tmp_path / "flag"
    flag.touch()
    async with shell.serving() as (url, _), Crib(url) as crib:
        # Several at once on one tool: each adds its part.
        parts = (
            ("--preset", f"path={flag}"),
            ("--title", "Waiting"),
            ("--when-to-use", "For patience."),
        )
        async with anyio.create_task_group() as tasks:
            for part in parts:
                tasks.start_soon(spawn, "overlay", "wait/wait_for", *part)
        with anyio.fail_after(60):
            while (await crib.call("wait__wait_for")).error is not None:
                pass
            # Each part is a commit of its own, and the crib may be between two of them.
            while "For patience." not in str(await crib.describe("wait__wait_for")):
                pass
        refused = await crib.call("wait__wait_for", {"path": "/etc/passwd"})
        assert refused.error is not None
        await spawn("overlay", "wait/fail", "--hide")
        with anyio.fail_after(60):
            while (error := (await crib.call("wait__fail")).error) is None or (
                error.code != "unknown_tool"
            ):
                pass
        await spawn("group", "create", "patience", "wait/wait_for")
        with anyio.fail_after(60):
            while not await found(crib, "wait until a file exists", "patience"):
                pass


async def found(crib: Crib, query: str, group: str) -> list[str]:
    """What is found in a group, nothing as long as there is no such group."""
    with suppress(ToolError):
        return [hit.reference for hit in await crib.search(query, group=group)]
    return []
