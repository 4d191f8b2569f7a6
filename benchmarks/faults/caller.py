"""An agent's side of the run: asks a gateway once, and says how the answer reads.

The same for every system. A caller that lost its gateway asks once more when it is there again: a
read always, a write only where repeating was promised to be harmless.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import anyio
import httpx2

from benchmarks.gateway_cpu import ACCEPT, ENVELOPE, MODERN

if TYPE_CHECKING:
    from benchmarks.faults.systems import System

KEY_META: Final = "io.toolcrib/idempotency_key"
LOST: Final = "gateway_lost"
"""The code of an answer that never came, because the gateway went."""
NO_ANSWER: Final = "no_answer"
LONGEST_SECONDS: Final = 10.0
"""A caller that was not answered gives up; well after the operator's limit."""


@dataclass(frozen=True)
class Answer:
    """What came back.

    Attributes:
        began: on the monotonic clock.
        ended: likewise.
        value: the structured content, None if there is none.
        code: of the error, empty without one.
        kind: `retryable`, `fatal`, `needs_human`; empty without an error.
        message: the error in words.
        meta: what the gateway says about the call.
    """

    began: float
    ended: float
    value: Any = None
    code: str = ""
    kind: str = ""
    message: str = ""
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def is_ok(self) -> bool:
        """Whether the gateway reports success."""
        return not self.code


class Caller:
    """Asks one gateway."""

    def __init__(self, system: System, http: httpx2.AsyncClient) -> None:
        self._system = system
        self._http = http

    async def ask(self, reference: str, arguments: Any, key: str) -> Answer:
        """The answer to one call; without a key if it is empty."""
        source, _, name = reference.partition("/")
        asked = self._system.request(source, name, arguments)
        headers = {
            **ACCEPT,
            "mcp-protocol-version": MODERN,
            "mcp-method": "tools/call",
            "mcp-name": asked["name"],
        }
        meta = {**ENVELOPE, KEY_META: key} if key else ENVELOPE
        params = {**asked, "_meta": meta}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        began = time.monotonic()
        # Not the client's own limit, which begins anew with every sign of life.
        with anyio.move_on_after(LONGEST_SECONDS):
            try:
                response = await self._http.post(self._system.url, json=body, headers=headers)
                told = response.json()
            except (httpx2.HTTPError, ValueError) as error:
                return Answer(began, time.monotonic(), code=LOST, message=repr(error))
            return _read(told, began, time.monotonic())
        return Answer(began, time.monotonic(), code=NO_ANSWER, message="no answer")


def _read(told: dict[str, Any], began: float, ended: float) -> Answer:
    if "result" not in told:
        error = told.get("error") or {}
        return Answer(began, ended, code=str(error.get("code")), message=str(error.get("message")))
    result = told["result"]
    meta = result.get("_meta") or {}
    value = result.get("structuredContent", _from_text(result))
    if not result.get("isError"):
        return Answer(began, ended, value, meta=meta)
    text = _text(result)
    error = meta.get("io.toolcrib/error") or {}
    code, kind = error.get("code") or "tool_failed", error.get("kind") or "fatal"
    return Answer(began, ended, value, str(code), str(kind), text, meta)


def _text(result: dict[str, Any]) -> str:
    return "".join(str(block.get("text", "")) for block in result.get("content") or ())


def _from_text(result: dict[str, Any]) -> Any:
    """An agent reads what is there: JSON as text is as good to it."""
    try:
        return json.loads(_text(result))
    except ValueError:
        return None
