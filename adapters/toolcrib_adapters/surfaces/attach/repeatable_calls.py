"""Which calls a bridge may send again, once, when the crib that had them has ended.

A call with an idempotency key, because the ledger of the home makes it once; one of a tool that the
list which passed through the bridge declared to only read. Of any other the bridge knows nothing.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from toolcrib_adapters.surfaces.meta_tools import CALL_TOOL
from toolcrib_protocol.call_meta import KEY_META
from toolcrib_protocol.errors import OUTCOME_UNKNOWN, SOURCE_DISCONNECTED, ErrorKind, ToolError

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject

_ANSWERS: Final = ("requestState", "inputResponses")
"""What goes on with a call that asked its caller something: the crib that asked has ended."""


class Repeat(Enum):
    """Why a call may be sent again."""

    NO = "no"
    KEYED = "keyed"
    READS = "reads"


class ReadingTools:
    """The tools that the client was told to only read."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def listed(self, page: JsonObject) -> None:
        """Note what one page of a list of tools says."""
        tools = page.get("tools")
        for tool in tools if isinstance(tools, list) else []:
            facts = _object(tool)
            name = facts.get("name")
            if not isinstance(name, str):
                continue
            if _object(facts.get("annotations")).get("readOnlyHint") is True:
                self._names.add(name)
            else:
                self._names.discard(name)

    def forget(self) -> None:
        """The list has changed: what it said may not be true any more."""
        self._names.clear()

    def repeat(self, params: JsonObject) -> Repeat:
        """Why a call with these parameters may be sent again."""
        if any(params.get(name) is not None for name in _ANSWERS):
            return Repeat.NO
        if _is_keyed(params):
            return Repeat.KEYED
        name = params.get("name")
        return Repeat.READS if isinstance(name, str) and name in self._names else Repeat.NO


def _is_keyed(params: JsonObject) -> bool:
    if _is_key(_object(params.get("_meta")).get(KEY_META)):
        return True
    if params.get("name") != CALL_TOOL:
        return False
    arguments = _object(params.get("arguments"))
    many = arguments.get("calls")
    if many is None:
        return _is_key(arguments.get("key"))
    # One without a key would be made twice.
    return isinstance(many, list) and all(_is_key(_object(one).get("key")) for one in many)


def _is_key(value: Json) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def lost_call(tool: str, repeat: Repeat) -> ToolError:
    """What the client hears of a call that is not sent again."""
    text = f"the running crib ended before the call of {tool!r} was answered. "
    if repeat is Repeat.NO:
        text += "It may have been carried out: look before repeating it. It was not sent again"
        return ToolError(OUTCOME_UNKNOWN, text, ErrorKind.NEEDS_HUMAN)
    text = f"{text}So did the next one, to which it was sent again. "
    if repeat is Repeat.KEYED:
        text += "Repeating it with the same key is safe: with one key it is carried out once"
    else:
        text += "Repeating it is safe: the tool only reads"
    return ToolError(SOURCE_DISCONNECTED, text, ErrorKind.RETRYABLE)
