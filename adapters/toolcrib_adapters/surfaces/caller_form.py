"""A result in the form that the caller's protocol revision can carry.

Blocks pass as they are. What a revision does not know is kept and labelled in a text block, because
a client that meets one unknown block refuses or loses the whole answer. Pure; used by the MCP
server only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_types import SERVER_INFO_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolcrib_protocol.content import AUDIO, RESOURCE_LINK, block_problem, text_block
from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.schema.wrapping import WRAPPED

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject

# Revisions are dates, so they compare as text.
_SINCE: Final = {AUDIO: "2025-03-26", RESOURCE_LINK: "2025-06-18"}
_STRUCTURED_SINCE: Final = "2025-06-18"


def in_caller_form(answer: JsonObject, version: str) -> JsonObject:
    """The `tools/call` answer for a caller that speaks `version`; `answer` is not changed."""
    formed = dict(answer)
    blocks = answer.get("content")
    formed["content"] = _blocks(blocks if isinstance(blocks, list) else [], version)
    if "structuredContent" in answer:
        _form_structured(formed, answer["structuredContent"], version)
    meta = answer.get("_meta")
    if isinstance(meta, dict) and SERVER_INFO_META_KEY in meta:
        # Who answers this hop is said by this hop: the source's own stamp would name the wrong
        # server.
        formed["_meta"] = {k: v for k, v in meta.items() if k != SERVER_INFO_META_KEY}
    return formed


def _blocks(blocks: list[Json], version: str) -> list[Json]:
    return [block_in_caller_form(block, version) for block in blocks]


def block_in_caller_form(block: Json, version: str) -> Json:
    """One content block for a caller that speaks `version`."""
    problem = block_problem(block)
    kind = block.get("type") if isinstance(block, dict) else None
    if problem is None and version < _SINCE.get(str(kind), ""):
        problem = f"this client's protocol revision has no {kind} blocks"
    return block if problem is None else text_block(f"[{problem}; as JSON:] {dump_json(block)}")


def _form_structured(formed: JsonObject, data: Json, version: str) -> None:
    if version not in MODERN_PROTOCOL_VERSIONS and not isinstance(data, dict):
        formed["structuredContent"] = {WRAPPED: data}
    if version < _STRUCTURED_SINCE and not formed["content"]:
        formed["content"] = [text_block(dump_json(data))]
