"""Idempotency keys on their way to a tool: where its contract says that they travel.

A key comes from the caller, or, where the caller has none, is made for this one call, so that the
crib itself may repeat it; it is never made of the arguments. A key that does not travel (the
contract says nothing about keys) is for the ledger alone. Pure; used by the path of a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import INVALID_ARGUMENTS, ToolError
from toolcrib_protocol.tool import KeyPlace

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.tool import IdempotencyKey
    from toolcrib_registry.call import Call
    from toolcrib_registry.records import SourceRecord, VersionRecord
    from toolcrib_registry.work import Work

LONGEST_KEY: Final = 255
_HTTP: Final = "http"
_MADE: Final = 16
"""Keys that are made here are the 16 hexadecimal digits of a call's id."""
_NARROWS: Final = frozenset({"pattern", "enum", "const", "format", "$ref", "not", "allOf"})


def check_key(key: str) -> str:
    """`key`, if it can be one.

    Raises:
        ToolError: `invalid_arguments`.
    """
    if not key or len(key) > LONGEST_KEY or not key.isprintable() or key != key.strip():
        shown = key if len(key) <= LONGEST_KEY else f"{key[:40]}..."
        raise ToolError(
            INVALID_ARGUMENTS,
            f"{shown!r} cannot be an idempotency key; nothing was called. A key has 1 to "
            f"{LONGEST_KEY} printable characters, and no blank at its ends; a UUID is a good one",
        )
    return key


def with_key_argument(call: Call, record: VersionRecord, given: Json, made: str) -> Json:
    """The arguments with the key in them, where the contract wants it there and nobody put one.

    Args:
        call: whose key it is.
        record: of the tool.
        given: the arguments as they came.
        made: the key to use if the caller has none.
    """
    place = record.contract.behaviour.idempotency_key
    if place is None or place.place is not KeyPlace.ARGUMENT:
        return given
    values: Json = {} if given is None else given
    if not isinstance(values, dict) or values.get(place.name) is not None:
        return given
    schema = _of_argument(record, place.name)
    if schema is None or (call.key is None and not _takes_made(schema)):
        return given
    return {**values, place.name: call.key or made}


def travelling_key(
    call: Call, record: VersionRecord, source: SourceRecord | None, values: JsonObject, made: str
) -> str | None:
    """The key by which the tool knows this call again, or None if none reaches it.

    Args:
        call: whose key it is.
        record: of the tool.
        source: of the tool; None if it is gone.
        values: the arguments that are sent.
        made: the key to use if the caller has none.

    Raises:
        ToolError: `invalid_arguments` for a key that cannot be sent in a header.
    """
    place = record.contract.behaviour.idempotency_key
    if place is None:
        return None
    if place.place is KeyPlace.ARGUMENT:
        # What the operator presets is the same for every call, so it tells none of them apart.
        value = None if place.name in record.presets else values.get(place.name)
        return value if isinstance(value, str) and value else None
    key = call.key or made
    if place.place is KeyPlace.META:
        return key
    if source is None or source.spec.get("transport") != _HTTP:
        return None
    if not key.isascii():
        text = (
            f"the key {key!r} has to travel in a header, which takes ASCII only; nothing was called"
        )
        raise ToolError(INVALID_ARGUMENTS, text)
    return key


def key_meta(work: Work) -> JsonObject:
    """What has to be in the `_meta` of the call."""
    place = _place(work, KeyPlace.META)
    return {} if place is None else {place.name: work.sent_key}


def key_headers(work: Work) -> dict[str, str]:
    """The headers that the request has to carry."""
    place = _place(work, KeyPlace.HEADER)
    return {} if place is None or work.sent_key is None else {place.name: work.sent_key}


def without_key_argument(work: Work) -> JsonObject:
    """The arguments without the key: what tells two calls apart."""
    place = work.record.contract.behaviour.idempotency_key
    values = work.arguments.values
    if place is None or place.place is not KeyPlace.ARGUMENT or place.name not in values:
        return values
    return {name: value for name, value in values.items() if name != place.name}


def may_repeat_with_key(work: Work) -> bool:
    """Whether the crib may send this very call again, because the tool knows its key."""
    return work.sent_key is not None


def caller_has_key(work: Work) -> bool:
    """Whether the caller may send the call again, because it has the key that the tool knows."""
    return work.sent_key is not None and (
        work.sent_key == work.call.key or work.sent_key != work.trail.id
    )


def _place(work: Work, wanted: KeyPlace) -> IdempotencyKey | None:
    place = work.record.contract.behaviour.idempotency_key
    return place if place is not None and place.place is wanted and work.sent_key else None


def _of_argument(record: VersionRecord, name: str) -> JsonObject | None:
    """The schema of an argument that callers may give; None if there is none."""
    properties = record.contract.input_schema.get("properties")
    schema = properties.get(name) if isinstance(properties, dict) else None
    return schema if isinstance(schema, dict) else None


def _takes_made(schema: JsonObject) -> bool:
    """Whether a key of our own making surely fits: a call must not fail because of it."""
    longest, shortest = schema.get("maxLength", _MADE), schema.get("minLength", 0)
    return (
        schema.get("type") == "string"
        and not _NARROWS & schema.keys()
        and isinstance(longest, int)
        and isinstance(shortest, int)
        and shortest <= _MADE <= longest
    )
