"""What a bridge says to each side when one crib follows another."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolcrib_adapters.surfaces.attach.conversation import Conversation

INITIALIZE = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"x":1}}'
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
OFFER = b'{"jsonrpc":"2.0","id":0,"result":{"capabilities":{"tools":{"listChanged":true}}}}'


def request(identity: object, method: str, **params: object) -> bytes:
    message = {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}
    return json.dumps(message).encode()


def read(lines: list[bytes]) -> list[Any]:
    return [json.loads(line) for line in lines]


@pytest.fixture
def open_session() -> Conversation:
    talk = Conversation()
    assert talk.from_client(INITIALIZE) == INITIALIZE
    assert talk.from_crib(OFFER) == [OFFER]
    assert talk.from_client(INITIALIZED) == INITIALIZED
    return talk


@pytest.mark.parametrize(
    "line", [b"no JSON", b"[1]", b"\xff\xfe", b"[" * 100_000, b"", b'{"jsonrpc":"2.0"}']
)
def test_what_is_no_message_passes_as_it_is(line: bytes) -> None:
    talk = Conversation()
    assert talk.from_client(line) == line
    assert talk.from_crib(line) == [line]
    assert not talk.is_request(line)
    talk.unsent(line)
    assert talk.lost() == []


@pytest.mark.promise("attach-takeover")
def test_the_next_crib_hears_the_handshake_the_settings_and_what_only_reads(
    open_session: Conversation,
) -> None:
    talk = open_session
    level, chosen = request(1, "logging/setLevel", level="info"), request(5, "tools/list")
    for line in (
        level,
        request(2, "resources/subscribe", uri="a:1"),
        request(3, "resources/subscribe", uri="a:2"),
        request(4, "resources/unsubscribe", uri="a:1"),
    ):
        talk.from_client(line)
    for number in (1, 2, 3, 4):
        talk.from_crib(json.dumps({"jsonrpc": "2.0", "id": number, "result": {}}).encode())
    talk.from_client(chosen)
    talk.from_client(request("6", "tools/call", name="pay", arguments={}))
    told = read(talk.lost())
    assert [(answer["id"], answer["error"]["data"]["code"]) for answer in told] == [
        ("6", "outcome_unknown")
    ]
    assert "'pay'" in told[0]["error"]["message"]
    (again,) = read(talk.handshake())
    assert again == {**json.loads(INITIALIZE), "id": again["id"]}
    assert talk.is_restoring
    assert talk.from_crib(json.dumps({"id": again["id"], "result": {}}).encode()) == []
    assert not talk.is_restoring
    to_crib, to_client = talk.restored()
    assert to_crib[0] == INITIALIZED
    assert [(m["method"], m["params"]) for m in read(to_crib[1:])] == [
        ("logging/setLevel", {"level": "info"}),
        ("resources/subscribe", {"uri": "a:2"}),
        ("tools/list", {}),
    ]
    assert [m["method"] for m in read(to_client)] == ["notifications/tools/list_changed"]
    for repeated in read(to_crib[1:3]):
        assert talk.from_crib(json.dumps({"id": repeated["id"], "result": {}}).encode()) == []


def test_a_handshake_that_was_not_answered_is_asked_again_as_it_was() -> None:
    talk = Conversation()
    talk.from_client(INITIALIZE)
    assert talk.lost() == []
    assert talk.handshake() == []
    assert talk.restored() == ([INITIALIZE], [])


def test_the_cribs_own_requests_stay_apart_from_its_successors(open_session: Conversation) -> None:
    talk = open_session
    question = request(0, "elicitation/create", message="sure?")
    assert talk.from_crib(question) == [question]
    (withdrawn,) = read(talk.lost())
    assert withdrawn["method"] == "notifications/cancelled"
    assert withdrawn["params"]["requestId"] == 0
    (asked,) = read(talk.from_crib(question))
    assert asked["id"] != 0
    late = json.dumps({"jsonrpc": "2.0", "id": 0, "result": {"action": "accept"}}).encode()
    assert talk.from_client(late) is None
    answer = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"é": "\ud800"}}).encode()
    sent = talk.from_client(answer)
    assert sent is not None
    assert json.loads(sent) == {"jsonrpc": "2.0", "id": 0, "result": {"é": "\ud800"}}


def test_cancelled_and_unsent_requests_are_nobodys(open_session: Conversation) -> None:
    talk = open_session
    call = request(1, "tools/call", name="pay")
    talk.from_client(call)
    assert not talk.is_settled
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    talk.from_client(json.dumps(cancelled).encode())
    talk.from_client(call)
    talk.unsent(call)
    assert talk.is_settled
    assert talk.lost() == []


@pytest.mark.promise("attach-takeover")
def test_a_subscription_is_renewed_and_acknowledged_once() -> None:
    talk = Conversation()
    listen = request(7, "subscriptions/listen", notifications={"toolsListChanged": True})

    def acknowledged() -> bytes:
        meta = {"io.modelcontextprotocol/subscriptionId": 7}
        params = {"notifications": {"toolsListChanged": True}, "_meta": meta}
        method = "notifications/subscriptions/acknowledged"
        return json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()

    talk.from_client(listen)
    assert talk.is_settled
    assert talk.from_crib(acknowledged()) == [acknowledged()]
    assert talk.lost() == []
    assert talk.restored() == ([listen], [])
    (told,) = read(talk.from_crib(acknowledged()))
    assert told["method"] == "notifications/tools/list_changed"
    assert told["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": 7}
    assert talk.from_crib(acknowledged()) == [acknowledged()]
    stranger = acknowledged().replace(b"7", b"8")
    assert talk.from_crib(stranger) == [stranger]


KEY = {"io.toolcrib/idempotency_key": "k1"}
LISTED = [
    {"name": "look", "annotations": {"readOnlyHint": True}},
    {"name": "pay", "annotations": {"readOnlyHint": False}},
    {"name": "odd", "annotations": []},
    {"name": 7},
    None,
]


@pytest.fixture
def knows_tools(open_session: Conversation) -> Conversation:
    open_session.from_client(request("list", "tools/list"))
    answer = {"jsonrpc": "2.0", "id": "list", "result": {"tools": LISTED}}
    open_session.from_crib(json.dumps(answer).encode())
    return open_session


@pytest.mark.promise("attach-keyed")
@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"name": "pay", "_meta": KEY}, "with the same key is safe"),
        ({"name": "call_tool", "arguments": {"name": "a", "key": "k"}}, "same key is safe"),
        (
            {"name": "call_tool", "arguments": {"calls": [{"name": "a", "key": "k"}]}},
            "with the same key is safe",
        ),
        ({"name": "look"}, "the tool only reads"),
    ],
)
def test_a_call_that_is_safe_to_repeat_is_sent_again_once(
    knows_tools: Conversation, params: dict[str, object], says: str
) -> None:
    talk = knows_tools
    call = request(1, "tools/call", **params)
    talk.from_client(call)
    assert talk.lost() == []
    assert talk.restored()[0][-1] == call
    (told,) = read(talk.lost())
    error = told["error"]["data"]
    assert (told["id"], error["code"], error["kind"]) == (1, "source_disconnected", "retryable")
    assert says in error["message"]
    assert call not in talk.restored()[0]


@pytest.mark.promise("attach-keyed")
@pytest.mark.parametrize(
    "params",
    [
        {"name": "pay"},
        {"name": "odd"},
        {"name": ["look"]},
        {"name": "pay", "_meta": {"io.toolcrib/idempotency_key": True}},
        {"name": "pay", "_meta": {"io.toolcrib/idempotency_key": ""}},
        {"name": "pay", "arguments": {"key": "k"}},
        {"name": "pay", "_meta": KEY, "requestState": "s"},
        {"name": "call_tool", "arguments": {"calls": [{"name": "a", "key": "k"}, {"name": "b"}]}},
        {"name": "call_tool", "arguments": {"calls": {}}},
        {"name": "call_tool", "arguments": []},
    ],
)
def test_a_call_of_which_nothing_is_known_is_not_sent_again(
    knows_tools: Conversation, params: dict[str, object]
) -> None:
    knows_tools.from_client(request(1, "tools/call", **params))
    (told,) = read(knows_tools.lost())
    assert told["error"]["data"]["kind"] == "needs_human"
    assert "look before repeating it" in told["error"]["message"]


def test_a_list_that_has_changed_says_nothing_of_its_tools_any_more(
    knows_tools: Conversation,
) -> None:
    knows_tools.from_crib(b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
    knows_tools.from_client(request(1, "tools/call", name="look"))
    knows_tools.from_client(request(2, "tasks/x"))
    told = read(knows_tools.lost())
    assert [one["error"]["data"]["code"] for one in told] == ["outcome_unknown"] * 2
