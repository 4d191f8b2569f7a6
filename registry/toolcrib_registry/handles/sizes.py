"""How much of a model's attention a result takes, told quickly.

In bytes of UTF-8: about four letters of English or one and a third characters of Chinese a token,
so bytes are as fair a measure as a cheap one can be. Pictures and sounds cost a model a fixed
amount, however many bytes they are. Text blocks and structured content mostly say the same, and a
client shows one of them: the larger one counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.content import AUDIO, IMAGE, RESOURCE, TEXT

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.result import Result

BINARY_BYTES: Final = 4_000
"""What a picture, a sound or a binary file counts."""
LARGEST_BINARY: Final = 7_000_000
"""Beyond so many characters of base64 (about 5 MB) no model takes it, and it counts in full."""
_BLOCK_BYTES: Final = 100


def is_larger(result: Result, most: int) -> bool:
    """Whether `result` takes more than `most` bytes."""
    room = most
    for block in result.content:
        room -= block_size(block)
        if room < 0:
            return True
    return result.has_data and is_value_larger(result.data, most)


def block_size(block: JsonObject) -> int:
    """What a content block counts."""
    kind = block.get("type")
    if kind == TEXT:
        return _text_size(block.get("text"))
    if kind in {IMAGE, AUDIO}:
        return _binary_size(block.get("data"))
    if kind == RESOURCE:
        resource = block.get("resource")
        facts = resource if isinstance(resource, dict) else {}
        return _text_size(facts.get("text")) + _binary_size(facts.get("blob"))
    return _BLOCK_BYTES


def _text_size(text: Json) -> int:
    if not isinstance(text, str):
        return _BLOCK_BYTES if text is not None else 0
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _binary_size(encoded: Json) -> int:
    if not isinstance(encoded, str):
        return 0
    return BINARY_BYTES if len(encoded) <= LARGEST_BINARY else len(encoded)


def is_value_larger(value: Json, most: int) -> bool:
    """Whether `value` takes more than about `most` bytes as JSON."""
    room = most
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            room -= _text_size(part) + 3
        elif isinstance(part, list):
            room -= 2 + len(part)
            if room >= 0:
                waiting.extend(part)
        elif isinstance(part, dict):
            room -= 2
            for key, item in part.items():
                room -= len(key) + 4
                if isinstance(item, str):
                    room -= _text_size(item) + 2
                else:
                    waiting.append(item)
        else:
            room -= 5
        if room < 0:
            return True
    return False
