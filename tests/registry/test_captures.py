"""What is kept of what went over the wire, where the operator wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.registry.cribs import raw_tool
from tests.registry.office import (
    NoKeys,
    OpenSealer,
    Providing,
    office,
    value_of,
)
from toolcrib_protocol.errors import (
    ToolError,
)
from toolcrib_protocol.json_value import dump_json
from toolcrib_registry.call import Call
from toolcrib_registry.call_book import CallBook
from toolcrib_registry.calls import Calls
from toolcrib_registry.captures import Captures
from toolcrib_registry.ports import CallQuery
from toolcrib_registry.redaction import Redactor
from toolcrib_registry.stages import Path

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject


@pytest.mark.promise("capture-opt-in")
async def test_only_what_the_operator_asks_for_is_captured_as_received_sent_and_answered() -> None:
    made = await office()
    await made.calls.call(Call("desk/send", {"to": "bob"}))
    assert await made.records.capture((await made.written()).id) is None
    await made.rule("group:desk", capture=True)
    await made.calls.call(Call("desk/send", {"to": "bob", "size": "3"}))
    seen = await made.captured()
    assert seen["arguments"] == {"value": {"to": "bob", "size": "3"}, "bytes": 23, "redacted": []}
    assert value_of(seen, "sent") == {"to": "bob", "size": 3}
    assert value_of(seen, "answer")["data"] == {"to": "bob", "size": 3}
    assert value_of(seen, "delivered")["status"] == "success"
    assert seen["is_read_only"] is False
    assert (await made.written()).facts["captured"] is True


async def test_a_refused_call_is_captured_as_it_came() -> None:
    made = await office()
    await made.rule("group:desk", capture=True)
    await made.calls.call(Call("desk/send", {"size": "many"}))
    seen = await made.captured()
    assert (seen["sent"], seen["answer"]) == (None, None)
    assert value_of(seen, "arguments") == {"size": "many"}
    error = value_of(seen, "delivered")["error"]
    assert isinstance(error, dict)
    assert error["code"] == "invalid_arguments"


@pytest.mark.promise("capture-session")
async def test_a_debug_session_ends_by_itself_and_never_overrules_a_no() -> None:
    made = await office()
    now = made.clock.now().timestamp()
    await made.rule("source:desk", capture_until=now + 60)
    await made.calls.call(Call("desk/send"))
    assert await made.records.capture((await made.written()).id) is not None
    await made.rule("group:desk", capture=False)
    await made.calls.call(Call("desk/send"))
    made.clock.advance(1)
    assert "captured" not in (await made.written()).facts
    await made.rule("group:desk", capture=None)
    made.clock.advance(120)
    await made.calls.call(Call("desk/send"))
    assert "captured" not in (await made.written()).facts


@pytest.mark.promise("capture-redacts")
async def test_secrets_are_taken_out_of_captures_by_name_by_schema_and_by_form() -> None:
    properties: JsonObject = {
        "code": {"type": "string", "format": "password"},
        "answer": {"type": ["string", "null"], "writeOnly": True},
    }
    made = await office(raw_tool("send", properties))
    await made.rule("group:desk", capture=True)
    arguments: JsonObject = {
        "code": "1234",
        "answer": "Rex",
        "apiKey": "k-1",
        "kunden_nummer": "77",
        "deep": [{"Authorization": "Basic x", "next_page_token": "p2", "max_tokens": 5}],
        "text": "call with Bearer abcdefghijkl please",
        "url": "postgres://u:pw@host/db",
        "json": '{"password": "hunter2", "n": 1}',
        "plain": '{"n": 1}',
        "broken": '{"password: hunter3',
        "env": "DB_PASSWORD=hunter2 PORT=1",
        "secret": None,
        "is_secret": True,
    }
    await made.calls.call(Call("desk/send", arguments))
    seen = await made.captured()
    kept = value_of(seen, "arguments")
    assert kept == {
        "code": "[redacted]",
        "answer": "[redacted]",
        "apiKey": "[redacted]",
        "kunden_nummer": "[redacted]",
        "deep": [{"Authorization": "[redacted]", "next_page_token": "p2", "max_tokens": 5}],
        "text": "call with [redacted] please",
        "url": "postgres://[redacted]@host/db",
        "json": '{"password":"[redacted]","n":1}',
        "plain": '{"n": 1}',
        "broken": '{"password: [redacted]',
        "env": "DB_PASSWORD=[redacted] PORT=1",
        "secret": None,
        "is_secret": True,
    }
    part = seen["arguments"]
    assert isinstance(part, dict)
    assert part["redacted"] == [
        "/code",
        "/answer",
        "/apiKey",
        "/kunden_nummer",
        "/deep/0/Authorization",
        "/text",
        "/url",
        "/json/password",
        "/broken",
        "/env",
    ]
    assert "hunter2" not in dump_json(seen)


@pytest.mark.promise("capture-redacts")
@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("https://u:pw@host/?token=zzz", "https://[redacted]@host/?token=[redacted]"),
        ("see <http://h/p?a=1&pwd=x>, then", "see <http://h/p?a=1&pwd=[redacted]>, then"),
        ("/cb#acc%65ss_token=t&state=s", "/cb#acc%65ss_token=[redacted]&state=s"),
        (
            "http://h/?key=k&amp;sig=s;pin=1",
            "http://h/?key=[redacted]&amp;sig=[redacted];pin=[redacted]",
        ),
        ("http://h/?X-Amz-Signature=ab&n=1", "http://h/?X-Amz-Signature=[redacted]&n=1"),
        ("http://h/?Kunden-Nummer=7", "http://h/?Kunden-Nummer=[redacted]"),
        ("http://h/?page=2&sort_key=n&q=a=b", "http://h/?page=2&sort_key=n&q=a=b"),
        ("is a?b=c & d; token == 1", "is a?b=c & d; token == 1"),
    ],
)
def test_parameters_of_addresses_in_texts_are_judged_by_their_names(text: str, kept: str) -> None:
    redactor = Redactor(["kundennummer"])
    assert redactor.cleaned([text]) == [kept]
    assert redactor.places == ([] if text == kept else ["/0"])


@pytest.mark.promise("capture-bounded")
async def test_captures_are_cut_to_a_size_and_too_deep_values_are_taken_out() -> None:
    made = await office()
    await made.rule("group:desk", capture=True)
    deep: Json = "bottom"
    for _ in range(80):
        deep = [deep]
    await made.calls.call(Call("desk/send", {"to": "ü" * 1_000, "deep": deep}))
    part = (await made.captured())["arguments"]
    assert isinstance(part, dict)
    assert isinstance(part["start"], str)
    assert len(part["start"].encode()) <= 1_000
    assert "bottom" not in dump_json(part)


def test_only_so_much_of_a_huge_value_is_looked_at() -> None:
    redactor = Redactor()
    assert redactor.cleaned({"a": "x" * 300_000, "b": [1, 2]}) == {"a": "x" * 262_142, "b": "[cut]"}
    assert redactor.is_cut
    redactor = Redactor()
    redactor.cleaned([7] * 300_000)
    assert redactor.is_cut


async def test_a_capture_that_cannot_be_sealed_or_read_is_told_and_the_record_is_there() -> None:
    made = await office()
    book = CallBook(made.records, made.clock, Captures(NoKeys()))
    calls = Calls(made.catalogue, Providing(made.provider), path=Path(recorder=book))
    await made.rule("group:desk", capture=True)
    await calls.call(Call("desk/send"))
    await book.write()
    (record,) = await made.records.find(CallQuery())
    assert await made.records.capture(record.id) is None
    made.clock.advance(1)
    await made.calls.call(Call("desk/send", {"to": "x"}))
    record = await made.written()
    capture = await made.records.capture(record.id)
    assert capture is not None
    sealer = OpenSealer()
    broken = type(capture)(capture.call, capture.at, sealer.seal(b"[]", f"capture:{record.id}"))
    with pytest.raises(ToolError, match="no object"):
        made.captures.read(broken)
