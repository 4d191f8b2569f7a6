"""Servers that are started as processes: what they get, what they may do, and how they end."""

from __future__ import annotations

import json
import os
import sys
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest

from tests.adapters.sources.listening_host import running
from tests.adapters.sources.mcp_upstream.bay import BayHost, bay, names, upstream
from tests.adapters.sources.python_functions.desk import ended
from tests.fake_upstreams import line_server, sdk_server
from toolcrib_protocol.errors import (
    SOURCE_DISCONNECTED,
    SOURCE_UNAVAILABLE,
    UPSTREAM_PROTOCOL,
    ErrorKind,
    ToolError,
)
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.permissions import LOCAL_CALLER
from toolcrib_registry.ports import CallContext, SourceStatus

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fake_upstreams import FakeServer
    from toolcrib_protocol.json_value import Json, JsonObject

needs_groups = pytest.mark.skipif(sys.platform == "win32", reason="process groups")
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


def wrapped(spec: JsonObject, *, before: str = "") -> JsonObject:
    """The same server behind a shell that starts something else, too."""
    words = [spec["command"], *spec["args"]] if isinstance(spec["args"], list) else []
    return {
        **spec,
        "command": "/bin/sh",
        "args": ["-c", f'{before} exec "$@"', "sh", *words],
    }


async def line_of(path: Path) -> int:
    """The first number that somebody writes to a file."""
    with anyio.fail_after(30):
        while not (path.exists() and path.read_text().strip()):
            await anyio.lowlevel.checkpoint()
    return int(path.read_text().split()[0])


@pytest.mark.promise("mcp-both-generations")
@pytest.mark.parametrize("server", [line_server, sdk_server])
async def test_a_server_of_either_generation_is_listed_and_called(server: FakeServer) -> None:
    async with bay(server()) as made:
        assert made.state.status is SourceStatus.READY
        assert names(made.host.listings[0].entries)[0] == "echo"
        assert made.host.listings[0].source == "bay"
        assert made.host.listings[0].title in {"Line server", "SDK server"}
        assert made.host.listings[0].description.startswith("Mind the")
        assert (await made.call("echo", text="hello")).data == {"text": "hello"}


@pytest.mark.promise("mcp-digits")
@pytest.mark.parametrize("server", [line_server, sdk_server])
async def test_numbers_pass_digit_for_digit_both_ways(server: FakeServer) -> None:
    numbers: dict[str, Any] = {
        "id": 9007199254740993,
        "neg": -9223372036854775808,
        "huge": 10**40 + 1,
        "f": 1.0,
        "nothing": None,
    }
    async with bay(server()) as made:
        data = (await made.call("echo", **numbers)).data
        assert repr(data) == repr(numbers)


@pytest.mark.promise("mcp-minimal-environment")
async def test_a_server_gets_the_minimal_environment_and_what_is_named(tmp_path: Path) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": "/home/somebody",
        "TOKEN": "t0ken-value",
        "OTHER": "nobody's business",
        "PROXY": "http://proxy",
        "TERM": "() { an exported function; }",
    }
    spec = line_server(
        env={"KEY": "${TOKEN}", "MODE": "${MODE:-slow}", "LITERAL": "$${TOKEN}"},
        inherit_env=["PROXY", "ABSENT"],
        cwd="${PLACE}",
    )
    async with bay(spec, {**environment, "PLACE": str(tmp_path)}) as made:
        facts = await made.facts("environment")
        env = facts["env"]
        assert isinstance(env, dict)
        env.pop("LC_CTYPE", None)  # Python sets it for itself
        assert env == {
            "PATH": os.environ["PATH"],
            "HOME": "/home/somebody",
            "PROXY": "http://proxy",
            "KEY": "t0ken-value",
            "MODE": "slow",
            "LITERAL": "${TOKEN}",
        }
        assert facts["cwd"] == os.path.realpath(tmp_path)


@pytest.mark.promise("mcp-minimal-environment")
async def test_arguments_are_expanded_and_never_split() -> None:
    spec = line_server()
    assert isinstance(spec["args"], list)
    spec["args"] = [*spec["args"], "--key", "${KEY}", "two words", "*", "$${HOME}"]
    async with bay(spec, {**os.environ, "KEY": "a b"}) as made:
        facts = await made.facts("environment")
        assert facts["args"] == ["--key", "a b", "two words", "*", "${HOME}"]


async def test_the_first_calls_share_one_process_and_wait_for_it(tmp_path: Path) -> None:
    starts, clock, host = tmp_path / "starts", HandClock(), BayHost()
    source = upstream(line_server({"starts": str(starts)}), clock)
    answers: list[Json] = []

    async def ask(number: int) -> None:
        result = await source.call("echo", {"n": number}, CallContext(30, LOCAL_CALLER))
        answers.append(result.data)

    async with running(source, host):
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for number in range(50):
                    tasks.start_soon(ask, number)
    assert sorted(str(answer) for answer in answers) == sorted(str({"n": n}) for n in range(50))
    assert len(starts.read_text().split()) == 1


async def test_many_calls_run_at_once_and_each_gets_its_own_answer() -> None:
    answers: dict[int, Json] = {}

    async with bay(line_server()) as made:

        async def ask(number: int) -> None:
            answers[number] = (await made.call("gather", of=20, n=number)).data

        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(ask, number)
    assert answers == {n: {"of": 20, "n": n} for n in range(20)}


@pytest.mark.promise("field-noise-on-stdio")
async def test_a_banner_on_stdout_is_passed_over() -> None:
    banner = "Server ready\n{}\n[1, 2]\n{not json}\n\n"
    async with bay(line_server({"before": banner})) as made:
        assert made.state.status is SourceStatus.READY
        assert (await made.call("echo", a=1)).data == {"a": 1}


ANSWER = '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"%s"}]}}'


@pytest.mark.promise("field-noise-on-stdio")
@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("caf\xe9", "caf\ufffd"),
        ("\xff\xfe", "\ufffd\ufffd"),
        ("lone \\ud800 surrogate", "lone \ufffd\ufffd\ufffd surrogate"),
    ],
)
async def test_bytes_that_are_no_text_are_replaced(text: str, read: str) -> None:
    async with bay(line_server()) as made:
        assert (await made.call("write", text=ANSWER % text)).text == read
        assert (await made.call("echo", a=1)).data == {"a": 1}


@pytest.mark.promise("field-noise-on-stdio")
async def test_a_line_of_eight_megabytes_is_an_answer_like_others() -> None:
    async with bay(line_server()) as made:
        result = await made.call("write", text=ANSWER % "FILL", fill=8_000_000)
        assert len(result.text) == 8_000_000


@pytest.mark.promise("field-noise-on-stdio")
async def test_a_line_without_end_fails_its_own_call_only() -> None:
    async with bay(line_server()) as made:
        with pytest.raises(ToolError, match="a line of 67,") as told:
            await made.call("write", text=ANSWER % "FILL", fill=67_200_000)
        assert told.value.code == UPSTREAM_PROTOCOL
        assert (await made.call("echo", a=1)).data == {"a": 1}


@pytest.mark.parametrize(
    "answer",
    [
        '{"jsonrpc":"2.0","id":ID,"result":"just text"}',
        '{"jsonrpc":"2.0","id":ID,"result":{"n":' + "9" * 5_000 + "}}",
        '{"jsonrpc":"2.0","id":ID,"result":' + "[" * 100_000 + "}",
        '{"jsonrpc":"2.0","result":{broken,"id":ID}',
        '{"jsonrpc":"2.0","id":ID,"result":{"content":"no list"}}',
        '{"jsonrpc":"2.0","id":ID,"result":{"content":[],"resultType":"task"}}',
    ],
    ids=["text", "digits", "deep", "broken", "content", "kind"],
)
async def test_an_answer_that_cannot_be_read_ends_its_call_at_once(answer: str) -> None:
    async with bay(line_server()) as made:
        with pytest.raises(ToolError) as told:
            await made.call("write", text=answer)
        assert told.value.code == UPSTREAM_PROTOCOL
        assert told.value.kind is ErrorKind.FATAL
        assert (await made.call("echo", a=1)).data == {"a": 1}


async def test_a_log_line_that_looks_like_json_ends_no_call() -> None:
    async with bay(line_server()) as made:
        noise = '{"level":"info","id":ID,"text":"result"}\n'
        result = await made.call("write", text=noise + ANSWER % "fine")
        assert result.text == "fine"


async def test_arguments_that_have_no_utf8_form_pass_as_escapes() -> None:
    async with bay(line_server()) as made:
        heard: dict[str, Any] = {"text": "\ud800"}
        result = await made.call("echo", **heard)
        assert result.data == {"text": "\ufffd\ufffd\ufffd"}
        with pytest.raises(ToolError, match="cannot be written as JSON"):
            await made.call("echo", n=10**5_000, **heard)
        assert (await made.call("echo", a=1)).data == {"a": 1}


@pytest.mark.promise("field-noise-on-stdio")
async def test_a_flood_on_stderr_blocks_nobody() -> None:
    async with bay(line_server()) as made:
        await made.call("write", stderr="x" * 1_000 + "\n", times=5_000)
        assert (await made.call("echo", a=1)).data == {"a": 1}


@pytest.mark.promise("mcp-death-noticed")
async def test_a_crash_fails_the_calls_that_run_and_the_next_one_is_answered() -> None:
    async with bay(line_server()) as made:
        first = (await made.facts("environment"))["pid"]
        told: list[ToolError] = []

        async def wait() -> None:
            with pytest.raises(ToolError) as error:
                await made.call("wait")
            told.append(error.value)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            tasks.start_soon(wait)
            with pytest.raises(ToolError) as error:
                await made.call("die")
            told.append(error.value)
        assert [(e.code, e.kind, e.details) for e in told] == [
            (SOURCE_DISCONNECTED, ErrorKind.RETRYABLE, {"sent": True})
        ] * 3
        # A call that comes now waits for the reconnect instead of failing.
        assert (await made.host.settled()).reason == "the connection ended"
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(made.pass_time, 2)
            second = (await made.facts("environment"))["pid"]
        assert second != first
        assert len(made.host.listings) == 2


async def test_a_server_that_answered_before_it_died_is_started_again_at_once_every_time() -> None:
    async with bay(line_server()) as made:
        for _ in range(4):
            await made.facts("environment")
            with pytest.raises(ToolError):
                await made.call("die")
            state = await made.host.settled()
            assert state.retry_at is not None
            pause = datetime.fromisoformat(state.retry_at) - made.clock.now()
            assert pause <= timedelta(seconds=0.1)
            await made.state_after_pause()


@needs_groups
@pytest.mark.promise("mcp-death-noticed")
async def test_a_death_is_noticed_although_a_child_holds_the_pipes_open() -> None:
    async with bay(wrapped(line_server(), before="sleep 1000 &")) as made:
        with pytest.raises(ToolError) as told:
            await made.call("die")
        assert told.value.code == SOURCE_DISCONNECTED


@needs_linux
@pytest.mark.promise("field-no-left-over-processes")
async def test_children_of_a_server_end_with_it(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    spec = wrapped(line_server(), before=f"sleep 1000 & echo $! > {pid_file};")
    async with bay(spec) as made:
        server = (await made.facts("environment"))["pid"]
        sleeper = await line_of(pid_file)
        os.kill(sleeper, 0)
    assert isinstance(server, int)
    assert await ended(server)
    assert await ended(sleeper)


@needs_linux
@pytest.mark.promise("field-no-left-over-processes")
async def test_a_reconnect_ends_what_the_last_server_left_behind(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    spec = wrapped(line_server(), before=f"sleep 1000 & echo $! >> {pid_file};")
    async with bay(spec) as made:
        first = await line_of(pid_file)
        with pytest.raises(ToolError):
            await made.call("die")
        await made.host.settled()
        await made.state_after_pause()
        assert await ended(first)


@needs_linux
@pytest.mark.promise("field-no-left-over-processes")
async def test_a_server_that_will_not_leave_is_killed() -> None:
    async with bay(line_server({"deaf": True})) as made:
        pid = (await made.facts("environment"))["pid"]
    assert isinstance(pid, int)
    assert await ended(pid)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"command": "no-such-command-here"}, "the command 'no-such-command-here' was not found"),
        ({"cwd": "/no/such/folder"}, "the folder '/no/such/folder' was not found"),
        ({"args": ["nul \0"]}, "cannot be started"),
        ({"command": "/"}, "cannot be started"),
    ],
)
async def test_a_server_that_cannot_be_started_says_why_and_is_tried_again(
    spec: JsonObject, told: str
) -> None:
    async with bay({**line_server(), **spec}) as made:
        assert made.state.status is SourceStatus.FAILED
        assert told in made.state.reason
        assert made.state.retry_at is not None
        assert told in (await made.state_after_pause()).reason
        with pytest.raises(ToolError, match="nothing was called") as error:
            await made.call("echo")
        assert error.value.code == SOURCE_UNAVAILABLE
        assert error.value.kind is ErrorKind.RETRYABLE


async def test_a_command_that_is_installed_later_is_found(tmp_path: Path) -> None:
    command = tmp_path / "server"
    async with bay({**line_server(), "command": str(command)}) as made:
        assert made.state.status is SourceStatus.FAILED
        command.symlink_to(sys.executable)
        assert (await made.state_after_pause()).status is SourceStatus.READY


async def test_a_server_that_ends_at_once_is_quoted_without_its_secrets() -> None:
    script = {"ends": 3, "complaint": "bad key: ${KEY}\n"}
    spec = line_server(env={"UNUSED": "${KEY}"})
    assert isinstance(spec["args"], list)
    # In the arguments, as people do.
    spec["args"] = [*spec["args"][:2], json.dumps(script)]
    async with bay(spec, {**os.environ, "KEY": "k3y-of-mine"}) as made:
        assert made.state.status is SourceStatus.FAILED
        assert made.state.reason == ("the server ended before it answered; it wrote: bad key: ***")


async def test_stdout_that_is_closed_ends_the_connection(tmp_path: Path) -> None:
    spec = line_server({"ends": 0})
    async with bay(spec) as made:
        assert made.state.reason == "the server ended before it answered"
