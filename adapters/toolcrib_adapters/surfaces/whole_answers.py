"""Lets a source's answer through the MCP SDK as it is.

The SDK passes results through the model of the caller's revision, which drops fields it does not
know and, for 2026-07-28, all the content if one block is odd. What a source answers is not ours to
trim: the handler returns an empty envelope and lays the answer beside it; this middleware fills the
envelope after the SDK has checked and stamped it.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

    from toolcrib_protocol.json_value import Json, JsonObject

_beside: ContextVar[list[JsonObject]] = ContextVar("answers_beside")


def lay_beside(answer: JsonObject, envelope: JsonObject | None = None) -> JsonObject:
    """The envelope for `answer`, which `whole_answers` will put into it; by default a tool's."""
    _beside.get().append(answer)
    return {"content": [], "resultType": "complete"} if envelope is None else envelope


def lay_interim(answer: JsonObject) -> JsonObject:
    """The envelope for an answer that is not the end of its call; it says what kind it is."""
    _beside.get().append(answer)
    return answer


async def whole_answers(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Middleware that fills the envelope of an answer with what was laid beside it."""
    answers: list[JsonObject] = []
    token = _beside.set(answers)
    try:
        envelope = await call_next(ctx)
    finally:
        _beside.reset(token)
    if not answers or not isinstance(envelope, dict):
        return envelope
    answer = answers[0]
    meta = {**_object(answer.get("_meta")), **_object(envelope.get("_meta"))}
    filled: dict[str, Any] = {**envelope, **answer}
    return {**filled, "_meta": meta} if meta else filled


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}
