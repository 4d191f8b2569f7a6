"""The tools that a parsed JSON or YAML document describes, whatever common form it is in.

Understood: our own contracts, a stored MCP `tools/list` answer (whole, its result, its pages, or
    the bare list),
the function forms of the OpenAI, Anthropic and Gemini APIs, and mixtures. Each entry is judged
alone. Pure: reading files is the business of adapters; whether a foreign schema can be used is
judged where listings are accepted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from toolcrib_protocol.errors import INVALID_CONTRACT, ToolError
from toolcrib_protocol.tool import Contract

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolcrib_protocol.json_value import Json, JsonObject

# Keys that only our own form has; an entry without any of them means the same in every form.
_OUR_KEYS: Final = frozenset(Contract.model_fields) - {
    *("name", "title", "description", "input_schema", "icons", "meta")
}
_OUR_ALIASES: Final = {"parameters": "input_schema", "returns": "output_schema"}
_LISTS: Final = ("tools", "contracts", "functions")
_GEMINI: Final = ("functionDeclarations", "function_declarations")
_GEMINI_SCHEMAS: Final = ("parametersJsonSchema", "parameters_json_schema", "parameters")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An entry that is none of the known forms.

    Attributes:
        position: its index in the document.
        name: its name, where it had a readable one.
        pointer: JSON Pointer to the fault inside the entry.
        reason: a sentence.
        raw: the entry.
    """

    position: int
    name: str | None
    pointer: str
    reason: str
    raw: Json


@dataclass(frozen=True, slots=True)
class ContractFile:
    """What a document describes.

    Attributes:
        entries: our contracts, or tools as an MCP `tools/list` has them, in the document's order.
        unreadable: what could not be read as either.
    """

    entries: tuple[Json | Contract, ...]
    unreadable: tuple[Unreadable, ...] = ()


def read_contracts(document: Json, default_group: str) -> ContractFile:
    """The tools of a parsed document.

    Args:
        document: JSON value.
        default_group: the home group of our own contracts that name none.

    Raises:
        ToolError: `invalid_contract` if the document as a whole is none of the known forms.
    """
    entries: list[Json | Contract] = []
    unreadable: list[Unreadable] = []
    for position, raw in enumerate(_raw_entries(document)):
        read = _read_entry(position, raw, default_group)
        if isinstance(read, Unreadable):
            unreadable.append(read)
        else:
            entries.append(read)
    return ContractFile(tuple(entries), tuple(unreadable))


def _raw_entries(document: Json) -> list[Json]:
    found = _list_in(document)
    if found is None:
        keys = (
            ", ".join(sorted(document)[:10])
            if isinstance(document, dict)
            else type(document).__name__
        )
        raise ToolError(
            INVALID_CONTRACT,
            f"this is no list of tools (found: {keys or 'nothing'}); write a list of contracts, "
            '{"tools": [...]}, or one contract with "name" and "input_schema"',
        )
    return [entry for outer in found for entry in _expanded(outer)]


def _list_in(document: Json) -> list[Json] | None:
    """The list of entries in `document`, or None if it has none."""
    if isinstance(document, list):
        return document
    if not isinstance(document, dict):
        return None
    for key in _LISTS:
        listed = document.get(key)
        if isinstance(listed, list):
            return listed
    if isinstance(document.get("result"), dict):
        return _list_in(document["result"])
    is_one = "name" in document or isinstance(document.get("function"), dict) or _declared(document)
    return [document] if is_one else None


def _expanded(entry: Json) -> Iterator[Json]:
    """An entry, or the entries inside it if it is a page or a Gemini tool."""
    if isinstance(entry, dict) and "name" not in entry:
        inner = _declared(entry)
        if inner is None and "function" not in entry:
            inner = _list_in(entry)
        if inner is not None:
            for nested in inner:
                yield from _expanded(nested)
            return
    yield entry


def _declared(entry: JsonObject) -> list[Json] | None:
    for key in _GEMINI:
        declared = entry.get(key)
        if isinstance(declared, list):
            return [_from_gemini(d) if isinstance(d, dict) else d for d in declared]
    return None


def _read_entry(position: int, raw: Json, default_group: str) -> Json | Contract | Unreadable:
    if not isinstance(raw, dict):
        reason = f"an entry must be an object, not {type(raw).__name__}"
        return Unreadable(position, None, "", reason, raw)
    form = _form_of(raw)
    if form is not None:
        return form(raw)
    return _own_contract(position, raw, default_group)


def _form_of(entry: JsonObject) -> Callable[[JsonObject], JsonObject] | None:
    """How to read an entry that is not in our own form; None if it is."""
    if isinstance(entry.get("function"), dict):
        return _from_openai_chat
    if "inputSchema" in entry:
        return _as_it_is
    if entry.get("type") == "function":
        return _from_openai_responses
    if _OUR_KEYS.isdisjoint(entry) and "returns" not in entry:
        return _from_schema_key
    return None


def _as_it_is(entry: JsonObject) -> JsonObject:
    return entry


def _from_openai_chat(entry: JsonObject) -> JsonObject:
    function = entry["function"]
    return _foreign(function if isinstance(function, dict) else {}, "parameters")


def _from_openai_responses(entry: JsonObject) -> JsonObject:
    return _foreign(entry, "parameters")


def _from_schema_key(entry: JsonObject) -> JsonObject:
    """Anthropic's form, and the smallest form of everybody: name, description, schema."""
    key = next((key for key in ("input_schema", "parameters") if key in entry), None)
    # Without a schema key it may be an MCP tool that lacks its schema, which the judge of listings
    # knows to treat.
    return entry if key is None else _foreign(entry, key)


def _foreign(entry: JsonObject, schema_key: str) -> JsonObject:
    """An entry of a `tools/list` answer. A function without parameters takes none."""
    tool: JsonObject = {key: entry[key] for key in ("name", "title", "description") if key in entry}
    schema = entry.get(schema_key)
    return {
        **tool,
        "inputSchema": {"type": "object", "properties": {}} if schema is None else schema,
    }


def _from_gemini(declared: JsonObject) -> JsonObject:
    key = next((key for key in _GEMINI_SCHEMAS if key in declared), "parameters")
    tool = _foreign(declared, key)
    return (
        {**tool, "inputSchema": _json_schema(tool["inputSchema"])} if key == "parameters" else tool
    )


def _json_schema(schema: Json) -> Json:
    """Gemini writes OpenAPI types (`STRING`, `nullable`) for JSON Schema's `string` and `null`."""
    if isinstance(schema, list):
        return [_json_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("type")
    plain: JsonObject = {key: _inner_schema(key, value) for key, value in schema.items()}
    if isinstance(kind, str):
        plain["type"] = kind.lower()
        if plain.pop("nullable", False) is True:
            plain["type"] = [kind.lower(), "null"]
    return plain


def _inner_schema(key: str, value: Json) -> Json:
    if key == "properties" and isinstance(value, dict):
        return {name: _json_schema(inner) for name, inner in value.items()}
    return _json_schema(value) if key in {"items", "anyOf"} else value


def _own_contract(position: int, raw: JsonObject, default_group: str) -> Contract | Unreadable:
    entry: JsonObject = {"group": default_group}
    for key, value in raw.items():
        entry[_OUR_ALIASES.get(key, key)] = value
    try:
        return Contract.model_validate(entry)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
        pointer = "".join(f"/{part}" for part in fault["loc"])
        name = raw.get("name")
        return Unreadable(
            position, name if isinstance(name, str) else None, pointer, fault["msg"], raw
        )
