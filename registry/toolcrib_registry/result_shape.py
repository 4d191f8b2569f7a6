"""Whether a result has the shape that its tool publishes, and what becomes of one that has not.

What can be brought into shape without loss is. Otherwise, since the work is done, the result is
delivered: its blocks as they are, a flag in `_meta`, and no structured content, which strict
clients would refuse together with the rest. Failures of the tool are never checked: the schema is
about success. Pure; used by the path of a call.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.content import text_block
from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.json_value import dump_json, parse_json
from toolcrib_protocol.result import META_PREFIX
from toolcrib_protocol.schema import explain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.result import Result
    from toolcrib_protocol.schema import Checker

SHAPE_META: Final = f"{META_PREFIX}output_schema"
"""`_meta` key that says how a result breaks the output schema of its tool."""
_LONGEST_TEXT: Final = 500
_LONGEST_JSON: Final = 16_000_000
_WRAPPER: Final = "result"
"""What SDKs put around values that are no objects."""
_PUT_ON: Final = f"put into {_WRAPPER!r}"


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


def brought_into_shape(result: Result, checker: Checker, schema: JsonObject) -> Result | None:
    """The same result in the shape that was promised; None if it has to lose something for that.

    JSON that came as text becomes structured, a lone `result` around the value is taken off or put
    on. The blocks stay as they are.

    Args:
        result: one with a fault of its shape.
        checker: of the output schema.
        schema: the output schema.
    """
    properties = schema.get("properties")
    takes_wrapper = isinstance(properties, dict) and _WRAPPER in properties
    for how, data in _readings(result):
        if how.endswith(_PUT_ON) and not takes_wrapper:
            continue  # a schema that forbids nothing admits it, and does not mean it
        if not checker.check(data):
            flag: JsonObject = {"fits": True, "normalised": how}
            return replace(result, data=data, has_data=True, meta={**result.meta, SHAPE_META: flag})
    return None


def _readings(result: Result) -> Iterator[tuple[str, Json]]:
    """What the result may have been meant as, the plainest first."""
    if not result.has_data:
        text = _only_text(result)
        if text is None:
            return
        try:
            value = parse_json(text, most_bytes=_LONGEST_JSON)
        except ToolError:
            # Words are a value, too, where a string was promised.
            yield f"text {_PUT_ON}", {_WRAPPER: text}
            return
        yield from _with_and_without_wrapper("JSON text", value)
    else:
        if isinstance(result.data, str):
            try:
                value = parse_json(result.data, most_bytes=_LONGEST_JSON)
            except ToolError:
                value = None
            if isinstance(value, dict | list):
                yield from _with_and_without_wrapper("JSON text", value)
        yield from _with_and_without_wrapper("", result.data)


def _with_and_without_wrapper(how: str, value: Json) -> Iterator[tuple[str, Json]]:
    if how:
        yield how, value
    told = f"{how}, " if how else ""
    if isinstance(value, dict) and value.keys() == {_WRAPPER}:
        yield f"{told}a lone {_WRAPPER!r} taken off", value[_WRAPPER]
    yield f"{told}{_PUT_ON}", {_WRAPPER: value}


def _only_text(result: Result) -> str | None:
    """The text of a result that consists of one text; None for all others."""
    if len(result.content) != 1 or result.content[0].get("type") != "text":
        return None
    text = result.content[0].get("text")
    return text if isinstance(text, str) else None


def without_data(result: Result, fault: str) -> Result:
    """The result with its blocks, the flag, and no structured content; nothing of it is lost."""
    content = result.content
    if result.has_data and not content:
        content = (text_block(dump_json(result.data)),)
    flag: JsonObject = {"fits": False, "fault": fault}
    meta: JsonObject = {**result.meta, SHAPE_META: flag}
    return replace(result, data=None, has_data=False, content=content, meta=meta)
