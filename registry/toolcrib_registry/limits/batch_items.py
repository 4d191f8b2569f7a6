"""What a batch is: many calls of one tool as one call of another, and the answer taken apart again.

Each item of the list is the arguments object of one call. The answer is a list with one entry for
each, in order: as the structured content, under `results` in it, or as JSON text. An entry that is
an object with `error` (words, or `{code, message, ...}`) is the failure of that call; anything else
is its result. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.content import text_block
from toolcrib_protocol.errors import OUTCOME_UNKNOWN, ErrorKind, ToolError
from toolcrib_protocol.json_value import dump_json, parse_json
from toolcrib_protocol.result import META_PREFIX, Result
from toolcrib_registry.classification import classify
from toolcrib_registry.failure_tables import Effect

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.tool import Contract

BATCHED_META: Final = f"{META_PREFIX}batched"
"""`_meta` key that says with how many calls, its own counted, a call was made as one."""
RESULTS: Final = "results"
ERROR: Final = "error"


def items_of(answer: Result, number: int, single: Contract) -> list[Result] | None:
    """The results of the calls in a batch; None if the answer does not have one for each."""
    entries = _entries(answer)
    if entries is None or len(entries) != number:
        return None
    return [_result(entry, single) for entry in entries]


def _entries(answer: Result) -> list[Json] | None:
    found = answer.data
    if not answer.has_data:
        try:
            found = parse_json(answer.text)
        except ToolError:
            return None
    if isinstance(found, dict):
        found = found.get(RESULTS)
    return found if isinstance(found, list) else None


def _result(entry: Json, single: Contract) -> Result:
    """The result of one call, as its own tool would have given it."""
    if isinstance(entry, dict) and entry.get(ERROR) is not None:
        error = entry[ERROR]
        told = error.get("message", error.get("code")) if isinstance(error, dict) else error
        text = told if isinstance(told, str) else dump_json(told)
        failed: JsonObject = {
            "isError": True,
            "structuredContent": entry,
            "content": [text_block(text)],
        }
        return Result.from_mcp(failed)
    text = entry if isinstance(entry, str) else dump_json(entry)
    has_data = isinstance(entry, dict) or single.output_schema is not None
    data = entry if has_data else None
    return Result(data=data, content=(text_block(text),), has_data=has_data)


def went_wrong(answer: Result, batch: Contract, single: Contract) -> Result | None:
    """What each call of a batch is told that has no usable answer; None: it is made by itself.

    Args:
        answer: what came back.
        batch: the contract of the tool that was called.
        single: of the tool that was meant.
    """
    if single.behaviour.read_only is True:
        return None
    if answer.error is not None and classify(answer, batch).effect is Effect.NONE:
        return None
    why = "gave no result for each" if answer.error is None else answer.error.message
    text = (
        f"{single.id} was called together with others through {batch.id}, which failed as a "
        f"whole: {why}. Look whether it took effect before calling it again"
    )
    return Result.failed(
        ToolError(OUTCOME_UNKNOWN, text, ErrorKind.NEEDS_HUMAN, {"batch": str(batch.id)})
    )
