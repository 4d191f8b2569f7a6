"""Lines on a pipe as JSON-RPC messages, and back.

Pure. What a server prints beside the protocol is passed over; an answer that cannot be read ends
its own call with an error instead of leaving the caller waiting.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

import mcp_types as types

from toolcrib_adapters.sources.mcp_upstream.surrogates import written

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_LINE: Final = 64 * 1024 * 1024
_LOOK: Final = 512
_ID: Final = re.compile(r'"id"\s*:\s*(?:(\d{1,18})|"([^"\\]{1,200})")')
_REASON: Final = 200
_BRACKET: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]')
_CUT_DEPTH: Final = 400


def message_of(line: str) -> types.JSONRPCMessage | None:
    """The message that a line writes; None for a line that is none."""
    try:
        return types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return None if not line.lstrip().startswith("{") else _rescued(line)


def _rescued(line: str) -> types.JSONRPCMessage | None:
    """The same for what pydantic's parser refuses and Python's reads: lone surrogates, depth.

    A list of tools must not be lost for one entry nested too deeply; what is inside is judged by
    those who read it.
    """
    try:
        return types.jsonrpc_message_adapter.validate_python(rescued_value(line), by_name=False)
    except (ValueError, RecursionError) as error:
        return unreadable_answer([line], str(error).split("\n", 1)[0][:_REASON])


def rescued_value(line: str) -> object:
    """The value that JSON text writes, which pydantic's parser refuses and Python's perhaps reads.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deeply even for that.
    """
    try:
        value = json.loads(line)
    except RecursionError:
        value = json.loads(shallow(line))
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode("utf-8", "surrogatepass").decode("utf-8", "replace"))


def shallow(text: str) -> str:
    """JSON text with null in place of what is nested deeper than anything that is accepted."""
    kept: list[str] = []
    depth = start = 0
    for match in _BRACKET.finditer(text):
        bracket = match.group()
        if bracket in "[{":
            depth += 1
            if depth == _CUT_DEPTH:
                kept.append(text[start : match.start()])
        elif bracket in "]}":
            depth -= 1
            if depth == _CUT_DEPTH - 1:
                kept.append("null")
                start = match.end()
    return "".join([*kept, text[start:]])


def unreadable_answer(pieces: Sequence[str], reason: str) -> types.JSONRPCError | None:
    """An error in place of an answer, if a line looks like one at its beginning and end."""
    ends = pieces[0][:_LOOK] + pieces[-1][-_LOOK:]
    match = _ID.search(ends)
    if match is None or '"jsonrpc"' not in ends or '"method"' in pieces[0][:_LOOK]:
        return None
    number, word = match.groups()
    error = types.ErrorData(code=types.PARSE_ERROR, message=f"its answer cannot be read: {reason}")
    return types.JSONRPCError(jsonrpc="2.0", id=int(number) if number else word, error=error)


def line_of(message: types.JSONRPCMessage) -> bytes:
    """The line that writes a message.

    Raises:
        ValueError: the message holds something that JSON cannot.
    """
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
    except ValueError:
        value = message.model_dump(by_alias=True, mode="json", exclude_unset=True)
        return written(value).encode() + b"\n"
