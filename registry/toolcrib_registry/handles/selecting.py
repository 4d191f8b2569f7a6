"""What a path or a filter picks out of a kept result.

Both are expressions. A path goes on from the whole value: `rows[5].name`, or `$.rows[5].name`, as
JSONPath writes it. A filter is any expression over `it`: the value, or what the path picked. The
blocks beside the value, pictures for example, are `content`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import INVALID_EXPRESSION, ToolError
from toolcrib_protocol.expression import (
    Limits,
    Meter,
    Scope,
    evaluate,
    parse_expression,
    plain_path,
    select,
)

if TYPE_CHECKING:
    from toolcrib_protocol.expression import Expression
    from toolcrib_protocol.json_value import Json

VALUE: Final = "it"
BLOCKS: Final = "content"
READ_LIMITS: Final = Limits(steps=2_000_000, size=32 * 1024 * 1024)
"""A reader waits for more than a plan does: a filter looks at every row."""
_NAMES: Final = frozenset({VALUE, BLOCKS})
_ROOT: Final = re.compile(r"(?P<dollar>\$)|(?P<it>it\b)|(?P<content>content\b)|(?P<open>\[)")


@dataclass(frozen=True, slots=True)
class Selection:
    """A path and a filter that have been read.

    Attributes:
        path: from the value or the blocks on; None for the value itself.
        own_path: the same, where the value has a key of the blocks' name.
        filter: over what the path picked; None for that itself.
    """

    path: Expression | None = None
    own_path: Expression | None = None
    filter: Expression | None = None

    @classmethod
    def read(cls, path: str | None, chosen: str | None) -> Selection:
        """The selection that the texts write.

        Raises:
            ToolError: `invalid_expression`, `expression_budget`.
        """
        path, chosen = (path or "").strip(), (chosen or "").strip()
        return cls(
            _path(path, goes_into_value=False) if path else None,
            _path(path, goes_into_value=True) if path else None,
            parse_expression(chosen, reserved=_NAMES, dollar=VALUE) if chosen else None,
        )

    @property
    def is_whole(self) -> bool:
        """Whether nothing is picked."""
        return self.path is None and self.filter is None

    def of(self, value: Json, blocks: Json) -> Json:
        """What is picked; to be run in a thread.

        Raises:
            ToolError: `invalid_expression`, `expression_budget`.
        """
        meter = Meter(READ_LIMITS)
        has_key = isinstance(value, dict) and BLOCKS in value
        path = self.own_path if has_key else self.path
        if path is not None:
            value = select(path, Scope({VALUE: value, BLOCKS: blocks}), meter)
        if self.filter is not None:
            value = evaluate(self.filter, Scope({VALUE: value, BLOCKS: blocks}), meter)
        return value


def _path(text: str, *, goes_into_value: bool) -> Expression:
    expression = parse_expression(_rooted(text, goes_into_value=goes_into_value), dollar=VALUE)
    if plain_path(expression) is None:
        raise ToolError(
            INVALID_EXPRESSION,
            f"{text[:80]!r} is more than a path; write it as filter, over `it`: for example "
            "[r.name for r in it.rows if r.price > 3]",
        )
    return expression


def _rooted(text: str, *, goes_into_value: bool) -> str:
    """A path as an expression: what it goes on from is written in front of it."""
    root = _ROOT.match(text)
    if root is None or (root["content"] and goes_into_value):
        return f"{VALUE}.{text}"
    return f"{VALUE}{text}" if root["open"] else text
