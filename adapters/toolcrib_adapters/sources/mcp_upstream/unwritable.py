"""What an upstream answers that cannot go on as JSON: NaN, infinities, and endless nesting.

Pure. The call has had its effect, so its answer is delivered: such a number becomes null, and
`_meta` says where. An answer nested deeper than clients read is refused as a whole: what is left
of it would be another answer. Used for every answer of an upstream but its lists of tools, which
are judged entry by entry.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import UPSTREAM_PROTOCOL, ToolError
from toolcrib_protocol.json_pointer import below
from toolcrib_protocol.result import META_PREFIX

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject

NOT_NUMBERS: Final = f"{META_PREFIX}not_numbers"
"""`_meta` key with the JSON pointers of the nulls that were NaN or infinite."""
DEEPEST: Final = 180
"""Clients of the SDK read 200 levels, the envelope of an answer among them."""
_MOST_POINTERS: Final = 100


def writable(answer: JsonObject, tool: str) -> JsonObject:
    """The same answer, fit for JSON; mended in place, because nobody else has it yet.

    Args:
        answer: the raw result of a request.
        tool: how messages name what was asked.

    Raises:
        ToolError: `upstream_protocol` if it is nested too deeply.
    """
    if not _has_odd_number(answer, tool):
        return answer
    pointers = _mended(answer)
    meta = answer.get("_meta")
    told: JsonObject = {NOT_NUMBERS: [*pointers[:_MOST_POINTERS]]}
    answer["_meta"] = {**meta, **told} if isinstance(meta, dict) else told
    return answer


def _has_odd_number(answer: JsonObject, tool: str) -> bool:
    """Whether there is one, level by level: most answers have none and pay for no pointers."""
    level: list[JsonObject | list[Json]] = [answer]
    is_odd = False
    for _ in range(DEEPEST):
        below: list[JsonObject | list[Json]] = []
        for part in level:
            for value in part.values() if isinstance(part, dict) else part:
                if isinstance(value, dict | list):
                    below.append(value)
                elif isinstance(value, float) and not isfinite(value):
                    is_odd = True
        if not below:
            return is_odd
        level = below
    text = f"the answer of {tool} is nested deeper than {DEEPEST} levels and cannot be handed on"
    raise ToolError(UPSTREAM_PROTOCOL, text)


def _mended(answer: JsonObject) -> list[str]:
    """The pointers of the numbers that are null now."""
    pointers: list[str] = []
    waiting: list[tuple[str, JsonObject | list[Json]]] = [("", answer)]
    while waiting:
        where, part = waiting.pop()
        for key, value in [*(part.items() if isinstance(part, dict) else enumerate(part))]:
            pointer = below(where, key)
            if isinstance(value, dict | list):
                waiting.append((pointer, value))
            elif isinstance(value, float) and not isfinite(value):
                part[key] = None
                pointers.append(pointer)
    return sorted(pointers)
