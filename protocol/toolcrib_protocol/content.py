"""Content blocks: what a tool's answer is made of.

Blocks are kept as the JSON objects they arrived as, in order, so that fields, annotations and
`_meta` that we do not know survive. This module reads them; it never rebuilds them. Used by sources
(to make text blocks), surfaces and the client (to show text).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolcrib_protocol.json_value import JsonObject

TEXT: Final = "text"
IMAGE: Final = "image"
AUDIO: Final = "audio"
RESOURCE_LINK: Final = "resource_link"
RESOURCE: Final = "resource"

_REQUIRED: Final[dict[str, tuple[str, ...]]] = {
    TEXT: ("text",),
    IMAGE: ("data", "mimeType"),
    AUDIO: ("data", "mimeType"),
    RESOURCE_LINK: ("uri", "name"),
    RESOURCE: ("resource",),
}


def text_block(text: str) -> JsonObject:
    """A text block."""
    return {"type": TEXT, "text": text}


def block_problem(block: object) -> str | None:
    """Why `block` is not a content block of a known kind, or None if it is one."""
    if not isinstance(block, dict):
        return f"a block must be an object, not {type(block).__name__}"
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in _REQUIRED:
        return f"unknown block type {kind!r}"
    missing = [field for field in _REQUIRED[kind] if field not in block]
    return f"a block of type {kind!r} needs {', '.join(missing)}" if missing else None


def text_of(blocks: Iterable[JsonObject]) -> str:
    """What a person would read: text as it is, everything else named in brackets."""
    return "\n".join(_readable(block) for block in blocks)


def _readable(block: JsonObject) -> str:
    kind = block.get("type")
    if kind == TEXT:
        return str(block.get("text", ""))
    if kind == RESOURCE:
        resource = block.get("resource")
        facts = resource if isinstance(resource, dict) else {}
        return str(facts.get("text", f"[resource {facts.get('uri', '')}]"))
    name = block.get("name") or block.get("uri") or block.get("mimeType") or ""
    return f"[{kind} {name}]"
