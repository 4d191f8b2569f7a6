"""The meta-tools: what an agent sees instead of thousands of tool definitions.

Names, texts and schemas; every word is paid for by every conversation, so they share a fixed
token budget with the tools that later issues add. They are checked like any other tool: each has a
contract. What they do is in `meta_tool_answers.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.tool import Behaviour, Contract, Example
from toolcrib_registry.calls import MOST_CALLS_AT_ONCE
from toolcrib_registry.records import VersionRecord

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject

SEARCH_TOOLS: Final = "search_tools"
DESCRIBE_TOOLS: Final = "describe_tools"
CALL_TOOL: Final = "call_tool"
READ_RESULT: Final = "read_result"
MOST_QUERIES: Final = 8
MOST_HITS: Final = 20
USUAL_HITS: Final = 5
MOST_NAMES: Final = 20
_GROUP: Final = "toolcrib"

_SEARCH_TEXT: Final = (
    "Find tools by what they do. One query per task, in plain English or the words of the "
    "tools; tool names work too. Groups (number of tools):"
)
_CALL_TEXT: Final = (
    "Call a tool by name, or several at once with `calls` (they run in parallel). On failure check "
    "the arguments against the returned schema first, then `kind` before retrying."
)
_READ_TEXT: Final = (
    "Read on in a large result that was kept. `path`: rows[5].name; `filter`, over `it`: "
    "[r.id for r in it.rows if r.x > 3]; `range` of characters or items: [start, end)."
)


def _schema(properties: JsonObject, *required: str) -> JsonObject:
    schema: JsonObject = {"type": "object", "properties": properties}
    return {**schema, "required": [*required]} if required else schema


_ONE_CALL: Final[JsonObject] = {
    "name": {"type": "string"},
    "arguments": {"type": "object"},
    "version": {"type": "string", "description": "Range, e.g. ^1"},
    "key": {"type": "string", "description": "Idempotency key of a write"},
}

_SEARCH_SCHEMA: Final = _schema(
    {
        "queries": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "maxItems": MOST_QUERIES,
        },
        "group": {"type": "string", "description": "Only this group"},
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_HITS,
            "description": f"Hits per query, default {USUAL_HITS}",
        },
        "detail": {"enum": ["names", "signatures", "schemas"]},
    },
    "queries",
)
_DESCRIBE_SCHEMA: Final = _schema(
    {
        "names": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "maxItems": MOST_NAMES,
        }
    },
    "names",
)
_CALL_SCHEMA: Final = _schema(
    {
        **_ONE_CALL,
        "calls": {
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_CALLS_AT_ONCE,
            "items": _schema(
                {
                    "name": {"type": "string"},
                    "arguments": {"type": "object"},
                    "version": {"type": "string"},
                    "key": {"type": "string"},
                },
                "name",
            ),
        },
    }
)

_READ_SCHEMA: Final = _schema(
    {
        "handle": {"type": "string"},
        "path": {"type": "string"},
        "filter": {"type": "string"},
        "range": {"type": "array", "items": {"type": "integer"}},
    },
    "handle",
)


def _record(
    name: str, text: str, schema: JsonObject, example: JsonObject, *, reads: bool
) -> VersionRecord:
    contract = Contract(
        group=_GROUP,
        name=name,
        description=text,
        input_schema=schema,
        examples=(Example(arguments=example),),
        behaviour=Behaviour(read_only=True if reads else None),
    )
    return VersionRecord.of(contract, _GROUP, name)


META_TOOLS: Final = {
    record.upstream_name: record
    for record in (
        _record(
            SEARCH_TOOLS,
            _SEARCH_TEXT,
            _SEARCH_SCHEMA,
            {"queries": ["current time in a city"], "limit": 3},
            reads=True,
        ),
        _record(
            DESCRIBE_TOOLS,
            "Full schemas, errors and examples of tools by name or group/tool reference.",
            _DESCRIBE_SCHEMA,
            {"names": ["clock__now"]},
            reads=True,
        ),
        _record(
            CALL_TOOL,
            _CALL_TEXT,
            _CALL_SCHEMA,
            {"name": "clock__now", "arguments": {"zone": "Asia/Tokyo"}},
            reads=False,
        ),
        _record(
            READ_RESULT,
            _READ_TEXT,
            _READ_SCHEMA,
            {"handle": "h_mfrggzdfmztwq2lk", "path": "rows[5].name"},
            reads=True,
        ),
    )
}
"""The meta-tools by name, in the order in which they are listed."""


def definitions(group_summary: str) -> list[JsonObject]:
    """The meta-tools as `tools/list` shows them to a caller whose groups are `group_summary`."""
    return [_definition(record, group_summary) for record in META_TOOLS.values()]


def definition_of(name: str) -> JsonObject:
    """One meta-tool, for a list of other tools."""
    return _definition(META_TOOLS[name], "")


def _definition(record: VersionRecord, group_summary: str) -> JsonObject:
    contract = record.contract
    is_search = contract.name == SEARCH_TOOLS
    tool: JsonObject = {
        "name": contract.name,
        "description": f"{contract.description}\n{group_summary}"
        if is_search
        else contract.description,
        "inputSchema": contract.input_schema,
    }
    return {**tool, "annotations": {"readOnlyHint": True}} if contract.behaviour.read_only else tool
