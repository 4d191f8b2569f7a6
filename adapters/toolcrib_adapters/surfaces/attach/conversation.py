"""What a bridge remembers of one client's conversation, so that it can go on with another crib.

Pure: lines in, lines out. While a crib answers, lines pass as they are; only who waits for what is
noted. When the crib ends, what only reads is asked again at the next one; which calls may be, too,
`repeatable_calls.py` decides, and everything else is answered with an error that says its outcome
is not known. The older generation's handshake and settings are repeated, subscriptions of either
generation renewed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from toolcrib_adapters.surfaces.attach.repeatable_calls import ReadingTools, Repeat, lost_call
from toolcrib_protocol.errors import OUTCOME_UNKNOWN, ErrorKind, ToolError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolcrib_protocol.json_value import Json, JsonObject

_REPEATABLE: Final = frozenset(
    {
        "initialize",
        "ping",
        "server/discover",
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "logging/setLevel",
        "subscriptions/listen",
    }
)
_CALL: Final = "tools/call"
_LISTEN: Final = "subscriptions/listen"
_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
_LISTS: Final = {
    "tools": "notifications/tools/list_changed",
    "prompts": "notifications/prompts/list_changed",
    "resources": "notifications/resources/list_changed",
}
_FLAGS: Final = {
    "toolsListChanged": _LISTS["tools"],
    "promptsListChanged": _LISTS["prompts"],
    "resourcesListChanged": _LISTS["resources"],
}
_OURS: Final = "toolcrib-bridge:"
"""The ids of requests that a bridge repeats by itself begin so."""
_FAILED: Final = -32603
"""JSON-RPC's internal error; the SDK reads -32000 as the end of the connection."""


@dataclass(slots=True)
class _Asked:
    """A request of the client that is not answered yet."""

    id: Json
    method: str
    line: bytes
    repeat: Repeat = Repeat.NO
    tool: str = ""
    was_repeated: bool = False
    was_acknowledged: bool = False
    is_renewed: bool = False


@dataclass(slots=True)
class _Session:
    """What a client of the older generation has set up, as it wrote it."""

    initialize: bytes | None = None
    initialized: bytes | None = None
    is_open: bool = False
    lists: tuple[str, ...] = ()
    level: bytes | None = None
    subscribed: dict[str, bytes] = field(default_factory=dict)


class Conversation:
    """One client's conversation with one crib after the other."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Asked] = {}
        self._session = _Session()
        self._epoch = 0
        self._asked_by_crib: dict[str, Json] = {}
        self._restoring: set[str] = set()
        self._reading = ReadingTools()

    @property
    def is_restoring(self) -> bool:
        """Whether a new crib has still to answer the repeated handshake."""
        return _ours("initialize") in self._restoring

    @property
    def is_settled(self) -> bool:
        """Whether nothing runs that a crib which is told to end should still answer."""
        return all(asked.method == _LISTEN for asked in self._waiting.values())

    # From the client

    def is_request(self, line: bytes) -> bool:
        """Whether a line asks for something."""
        message = _parsed(line)
        return message is not None and "method" in message and "id" in message

    def from_client(self, line: bytes) -> bytes | None:
        """What to send to the crib for a line of the client; None if it is for no one any more."""
        message = _parsed(line)
        if message is None:
            return line
        if "method" not in message:
            return self._reply(message, line) if "id" in message else line
        if "id" in message:
            self._note_request(message, line)
        else:
            self._note_notification(message, line)
        return line

    def unsent(self, line: bytes) -> None:
        """The line did not reach the crib: nobody waits for its answer."""
        message = _parsed(line)
        if message is not None and "method" in message and "id" in message:
            self._waiting.pop(_key(message["id"]), None)

    def _note_request(self, message: JsonObject, line: bytes) -> None:
        method, params = str(message["method"]), _object(message.get("params"))
        key = _key(message["id"])
        repeat = self._reading.repeat(params) if method == _CALL else Repeat.NO
        tool = str(params.get("name", ""))
        self._waiting[key] = _Asked(message["id"], method, line, repeat, tool)
        if method == "initialize":
            self._session = _Session(initialize=line)
        elif method == "logging/setLevel":
            self._session.level = line
        elif method == "resources/subscribe":
            self._session.subscribed[str(params.get("uri"))] = line
        elif method == "resources/unsubscribe":
            self._session.subscribed.pop(str(params.get("uri")), None)

    def _note_notification(self, message: JsonObject, line: bytes) -> None:
        if message["method"] == "notifications/initialized":
            self._session.initialized = line
        elif message["method"] == "notifications/cancelled":
            params = _object(message.get("params"))
            self._waiting.pop(_key(params.get("requestId")), None)

    def _reply(self, message: JsonObject, line: bytes) -> bytes | None:
        """The client's answer to a crib's own request, under the crib's number for it."""
        key = _key(message["id"])
        if key not in self._asked_by_crib:
            # An answer for a crib that has ended would be taken for one to its successor.
            return line if self._epoch == 0 else None
        crib_id = self._asked_by_crib.pop(key)
        return line if crib_id == message["id"] else _line({**message, "id": crib_id})

    # From the crib

    def from_crib(self, line: bytes) -> list[bytes]:
        """What to send to the client for a line of the crib."""
        message = _parsed(line)
        if message is None:
            return [line]
        if "method" not in message:
            return self._answer(message, line)
        if "id" in message:
            return [self._request_of_crib(message, line)]
        if message["method"] == _ACKNOWLEDGED:
            return self._acknowledgement(message, line)
        if message["method"] == _LISTS["tools"]:
            self._reading.forget()
        return [line]

    def _answer(self, message: JsonObject, line: bytes) -> list[bytes]:
        identity = message.get("id")
        if isinstance(identity, str) and identity.startswith(_OURS):
            self._restoring.discard(identity)
            return []
        asked = self._waiting.pop(_key(identity), None)
        if asked is not None and asked.method == "tools/list":
            self._reading.listed(_object(message.get("result")))
        if asked is not None and asked.method == "initialize" and "result" in message:
            self._session.is_open = True
            offers = _object(_object(message["result"]).get("capabilities"))
            self._session.lists = tuple(
                method
                for key, method in _LISTS.items()
                if _object(offers.get(key)).get("listChanged")
            )
        return [line]

    def _request_of_crib(self, message: JsonObject, line: bytes) -> bytes:
        # Each crib counts its requests from the beginning; to the client they must stay apart.
        identity: Json = message["id"]
        shown = f"{self._epoch}:{_key(identity)}" if self._epoch else identity
        self._asked_by_crib[_key(shown)] = identity
        return line if shown == identity else _line({**message, "id": shown})

    def _acknowledgement(self, message: JsonObject, line: bytes) -> list[bytes]:
        params = _object(message.get("params"))
        identity = _object(params.get("_meta")).get(_SUBSCRIPTION)
        asked = self._waiting.get(_key(identity))
        if asked is None or not asked.is_renewed:
            if asked is not None:
                asked.was_acknowledged = True
            return [line]
        # The client knows that it is subscribed; what changed meanwhile, nobody can say.
        asked.is_renewed = False
        flags = _object(params.get("notifications"))
        news: Json = {_SUBSCRIPTION: identity}
        return [_changed(method, news) for flag, method in _FLAGS.items() if flags.get(flag)]

    # From one crib to the next

    def lost(self) -> list[bytes]:
        """The crib has ended: what to tell the client about what it will never hear."""
        told = [_cancelled(shown) for shown in self._asked_by_crib]
        self._asked_by_crib.clear()
        self._restoring.clear()
        self._epoch += 1
        for key, asked in list(self._waiting.items()):
            is_first = asked.repeat is not Repeat.NO and not asked.was_repeated
            if asked.method in _REPEATABLE or is_first:
                asked.was_repeated = True
                continue
            told.append(_unknown(asked))
            del self._waiting[key]
        return told

    def handshake(self) -> list[bytes]:
        """What a new crib has to answer before anything else is sent to it."""
        if not self._session.is_open or self._session.initialize is None:
            return []
        return [self._repeated(self._session.initialize, "initialize")]

    def restored(self) -> tuple[list[bytes], list[bytes]]:
        """What to send to a new crib then, and what to tell the client."""
        to_crib: list[bytes] = []
        session = self._session
        if session.is_open:
            to_crib += [session.initialized] if session.initialized else []
            to_crib += [self._repeated(session.level, "level")] if session.level else []
            to_crib += [
                self._repeated(line, f"subscribe:{uri}") for uri, line in session.subscribed.items()
            ]
        for asked in self._waiting.values():
            asked.is_renewed = asked.was_acknowledged
            to_crib.append(asked.line)
        is_told = self._epoch > 0 and session.is_open and session.initialized is not None
        return to_crib, [_changed(method) for method in session.lists] if is_told else []

    def _repeated(self, line: bytes, name: str) -> bytes:
        identity = _ours(name)
        self._restoring.add(identity)
        return _line({**(_parsed(line) or {}), "id": identity})


def _ours(name: str) -> str:
    return f"{_OURS}{name}"


def _parsed(line: bytes) -> JsonObject | None:
    """The message; None for what is none, which its receiver will say better than we could."""
    try:
        message: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _key(identity: Json) -> str:
    """An id as a key: 1, 1.0 and "1" are different ids."""
    return json.dumps(identity)


def _line(message: JsonObject) -> bytes:
    # In ASCII: half a surrogate pair, which JSON can write and UTF-8 cannot, stays what it is.
    return json.dumps(message, separators=(",", ":")).encode()


def _changed(method: str, meta: Json = None) -> bytes:
    message: JsonObject = {"jsonrpc": "2.0", "method": method}
    return _line({**message, "params": {"_meta": meta}} if meta else message)


def _cancelled(shown: str) -> bytes:
    params: JsonObject = {"requestId": json.loads(shown), "reason": "the crib that asked has ended"}
    return _line({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})


def _unknown(asked: _Asked) -> bytes:
    if asked.method == _CALL:
        error = lost_call(asked.tool, asked.repeat)
    else:
        text = f"the running crib ended before {asked.method} was answered. It was not sent again"
        error = ToolError(OUTCOME_UNKNOWN, text, ErrorKind.NEEDS_HUMAN)
    facts: JsonObject = {"code": _FAILED, "message": error.message, "data": error.as_json()}
    return _line({"jsonrpc": "2.0", "id": asked.id, "error": facts})


def joined(lines: Iterable[bytes]) -> bytes:
    """Lines as they are written."""
    return b"".join(line + b"\n" for line in lines)
