"""The answer to a list of calls: many results in one MCP answer, and out of it again.

Some clients show a model the content blocks only, others the structured content only. So both tell
every result in order, and no payload stands twice where one reader would pay for it twice: in the
structured entries a block is written out only if the result has no data of its own and the block is
text; any other block is a pointer into the answer's content. Used by the MCP surface (writing) and
the client (reading).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_protocol.content import TEXT, text_block
from toolcrib_protocol.errors import UPSTREAM_PROTOCOL, ErrorKind, ToolError
from toolcrib_protocol.result import Result, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib_protocol.json_value import Json, JsonObject


def results_as_mcp(names: Sequence[str], results: Sequence[Result]) -> JsonObject:
    """One MCP answer for `results`, each labelled with its tool's name; an error if all failed."""
    content: list[Json] = []
    entries: list[Json] = []
    for position, (name, result) in enumerate(zip(names, results, strict=True), start=1):
        content.append(text_block(f"[{position}/{len(results)}] {name}: {result.status.value}"))
        entries.append(_entry(result, first=len(content)))
        content.extend(result.content)
    answer: JsonObject = {"content": content, "structuredContent": {"results": entries}}
    if all(result.is_error for result in results):
        answer["isError"] = True
    return answer


def results_from_mcp(answer: JsonObject) -> list[Result]:
    """The results that `results_as_mcp` wrote, in order.

    Raises:
        ToolError: `upstream_protocol` if the answer is of another shape.
    """
    structured = answer.get("structuredContent")
    entries = structured.get("results") if isinstance(structured, dict) else None
    content = answer.get("content")
    if not isinstance(entries, list) or not isinstance(content, list):
        raise ToolError(UPSTREAM_PROTOCOL, "the answer to a list of calls holds no list of results")
    return [_result(entry, content) for entry in entries]


def _entry(result: Result, first: int) -> JsonObject:
    entry: JsonObject = {"status": result.status.value}
    if result.has_data:
        entry["data"] = result.data
    if result.error is not None:
        entry["error"] = result.error.as_json()
    entry["content"] = [
        block if block.get("type") == TEXT and not result.has_data else {"block": first + offset}
        for offset, block in enumerate(result.content)
    ]
    if result.meta:
        entry["meta"] = result.meta
    return entry


def _result(entry: Json, content: Sequence[Json]) -> Result:
    if not isinstance(entry, dict) or entry.get("status") not in set(Status):
        raise ToolError(UPSTREAM_PROTOCOL, "a result in the list has no known status")
    blocks = entry.get("content")
    meta = entry.get("meta")
    return Result(
        status=Status(str(entry["status"])),
        data=entry.get("data"),
        error=_error(entry.get("error")),
        content=tuple(_block(b, content) for b in blocks) if isinstance(blocks, list) else (),
        meta=meta if isinstance(meta, dict) else {},
        has_data="data" in entry,
    )


def _block(block: Json, content: Sequence[Json]) -> JsonObject:
    pointed = block
    if isinstance(block, dict) and "type" not in block:
        position = block.get("block")
        if isinstance(position, int) and 0 <= position < len(content):
            pointed = content[position]
    if not isinstance(pointed, dict) or "type" not in pointed:
        raise ToolError(
            UPSTREAM_PROTOCOL, "a result in the list points at a block that is not there"
        )
    return pointed


def _error(facts: Json) -> ToolError | None:
    if not isinstance(facts, dict):
        return None
    kind, details = facts.get("kind"), facts.get("details")
    return ToolError(
        str(facts.get("code", "")),
        str(facts.get("message", "")),
        ErrorKind(kind) if kind in set(ErrorKind) else ErrorKind.FATAL,
        details if isinstance(details, dict) else None,
    )
