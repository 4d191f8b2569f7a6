"""Results that a crib kept because they were large: asking for a part, and what comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.json_value import parse_json
from toolcrib_protocol.result import META_PREFIX

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.result import Result

HANDLE_META: Final = f"{META_PREFIX}handle"
READ_META: Final = f"{META_PREFIX}read"


def handle_of(result: Result) -> str | None:
    """The handle under which a result was kept; None if all of it is there."""
    facts = result.meta.get(HANDLE_META)
    handle = facts.get("handle") if isinstance(facts, dict) else None
    return handle if isinstance(handle, str) else None


def reading(
    handle: str,
    path: str | None,
    chosen: str | None,
    bounds: tuple[int, int] | None,
) -> JsonObject:
    """The arguments of `read_result`."""
    wish: JsonObject = {
        "handle": handle,
        "path": path,
        "filter": chosen,
        "range": None if bounds is None else [*bounds],
    }
    return {key: value for key, value in wish.items() if value is not None}


def value_read(result: Result) -> Json:
    """What was read: a JSON value, a text, or content blocks as a list.

    Raises:
        ToolError: the error of a failed reading; `invalid_json`.
    """
    if result.error is not None:
        raise result.error
    facts = result.meta.get(READ_META)
    kind = facts.get("kind") if isinstance(facts, dict) else "text"
    if kind == "blocks":
        return [*result.content]
    text = str(result.content[0].get("text", "")) if result.content else ""
    return parse_json(text) if kind == "json" else text
