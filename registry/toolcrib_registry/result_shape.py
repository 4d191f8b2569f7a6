"""Whether a result has the shape that its tool publishes, and what becomes of one that has not.

The work is done, so the result is delivered: its blocks as they are, a flag in `_meta`, and no
structured content, which strict clients would refuse together with the rest. Failures of the tool
are never checked: the schema is about success. Pure; used by the path of a call.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.content import text_block
from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.result import META_PREFIX
from toolcrib_protocol.schema import explain

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.result import Result
    from toolcrib_protocol.schema import Checker

SHAPE_META: Final = f"{META_PREFIX}output_schema"
"""`_meta` key that says how a result breaks the output schema of its tool."""
_LONGEST_TEXT: Final = 500


def shape_fault(result: Result, checker: Checker | None) -> str | None:
    """What is wrong with the shape of `result`; None if nothing is, or nothing was promised.

    Args:
        result: what the tool answered.
        checker: of its output schema, or None if it has none.
    """
    if checker is None or result.is_error or result.interim is not None:
        return None
    if not result.has_data:
        return "the tool declares an output schema and sent no structured content"
    violations = checker.check(result.data)
    return explain(violations)[:_LONGEST_TEXT] if violations else None


def without_data(result: Result, fault: str) -> Result:
    """The result with its blocks, the flag, and no structured content; nothing of it is lost."""
    content = result.content
    if result.has_data and not content:
        content = (text_block(dump_json(result.data)),)
    flag: JsonObject = {"fits": False, "fault": fault}
    meta: JsonObject = {**result.meta, SHAPE_META: flag}
    return replace(result, data=None, has_data=False, content=content, meta=meta)
