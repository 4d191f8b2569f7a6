"""What of a result is kept, and as what it is read again.

The value (`it`) is the structured content; without it, what the one text block says (as JSON if it
is JSON); else the list of blocks. Blocks that say something else, such as pictures, are kept beside
it in their order (`content`). A text block that only repeats the structured content is not kept a
second time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.content import TEXT
from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.large_json import json_pieces, parse_large_json
from toolcrib_protocol.schema.wrapping import WRAPPED
from toolcrib_registry.handles.outline import excerpt_of, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.result import Result

MOST_TEXT_PARSED: Final = 8_000_000
"""A text that is longer is looked into only when somebody asks for a path in it."""
_JSON_MARKS: Final = ("{", "[")


@dataclass(frozen=True, slots=True)
class Contents:
    """What is kept of one result.

    Attributes:
        value: the text of the value: JSON, or a plain text.
        blocks: the text of the list of other blocks; empty if there are none.
        is_json: whether the value is JSON.
        is_list: whether it is a list.
        is_blocks: whether the value is the list of blocks itself.
        shape: its shape in one line.
        excerpt: a small part of it.
    """

    value: Iterable[str]
    blocks: Iterable[str]
    is_json: bool
    is_list: bool
    is_blocks: bool
    shape: str
    excerpt: Json


def contents_of(result: Result, most_shown: int) -> Contents:
    """What is to be kept of `result`; to be run in a thread.

    Args:
        result: the result.
        most_shown: how large the excerpt may be, in bytes.
    """
    if result.has_data:
        others = [block for block in result.content if not _repeats(block, result.data)]
        return _of_value(result.data, json_pieces(result.data), others, most_shown)
    if len(result.content) != 1 or result.content[0].get("type") != TEXT:
        blocks: list[Json] = [*result.content]
        shape, shown = _blocks_outline(result.content), excerpt_of(_texts(blocks), most_shown)
        return Contents(
            json_pieces(blocks),
            (),
            is_json=True,
            is_list=True,
            is_blocks=True,
            shape=shape,
            excerpt=shown,
        )
    return _of_text(str(result.content[0].get("text", "")), most_shown)


def _of_value(
    value: Json, pieces: Iterable[str], others: Sequence[JsonObject], most_shown: int
) -> Contents:
    is_list = isinstance(value, list)
    shape = shape_of(value)
    if others:
        shape = f"{shape}, and blocks: {_blocks_outline(others)}"
    blocks = json_pieces([*others]) if others else ()
    return Contents(
        pieces,
        blocks,
        is_json=True,
        is_list=is_list,
        is_blocks=False,
        shape=shape,
        excerpt=excerpt_of(value, most_shown),
    )


def _of_text(text: str, most_shown: int) -> Contents:
    if len(text) <= MOST_TEXT_PARSED and _looks_like_json(text):
        try:
            return _of_value(parse_large_json(text), (text,), (), most_shown)
        except ToolError:
            pass  # It only looked like JSON.
    return Contents(
        (text,),
        (),
        is_json=False,
        is_list=False,
        is_blocks=False,
        shape=shape_of(text),
        excerpt=text,
    )


def _repeats(block: JsonObject, data: Json) -> bool:
    """Whether a block only says in text what the structured content says."""
    text = block.get("text")
    if block.get("type") != TEXT or not isinstance(text, str):
        return False
    is_wrapped = isinstance(data, dict) and [*data] == [WRAPPED]
    said_by = [data, data[WRAPPED]] if is_wrapped and isinstance(data, dict) else [data]
    if text in said_by:
        return True
    if not is_wrapped and isinstance(data, list | dict) and not _looks_like_json(text):
        return False
    try:
        return parse_large_json(text) in said_by
    except ToolError:
        return False


def _looks_like_json(text: str) -> bool:
    return text.lstrip()[:1] in _JSON_MARKS


def _blocks_outline(blocks: Sequence[JsonObject]) -> str:
    said = [f"content[{index}]: {_block_outline(block)}" for index, block in enumerate(blocks[:20])]
    return ", ".join([*said, *(["..."] if len(blocks) > len(said) else [])])


def _block_outline(block: JsonObject) -> str:
    text = block.get("text")
    if block.get("type") == TEXT and isinstance(text, str):
        return f"text({len(text):,})"
    name = block.get("mimeType") or block.get("name") or block.get("uri") or ""
    return f"{block.get('type')} {str(name)[:60]}".strip()


def _texts(blocks: Sequence[Json]) -> Json:
    """The text blocks alone: nothing else can be read in an excerpt."""
    return [
        block["text"]
        for block in blocks
        if isinstance(block, dict) and isinstance(block.get("text"), str)
    ]
