"""Writes JSON values as TOML, in the layout of a `crib.toml`.

The standard library reads TOML but does not write it; what a crib exports is plain enough to be
written here.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_protocol.json_value import Json, JsonObject

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_SHORT: Final = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_ESCAPED: Final = re.compile(r'[\x00-\x1f\x7f"\\]')
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def toml_document(tables: JsonObject) -> str:
    """`tables` as a TOML document: plain keys first, then a table for each object of objects.

    Raises:
        ToolError: `invalid_settings` for what TOML cannot hold (null, half of a character).
    """
    plain: JsonObject = {key: value for key, value in tables.items() if not isinstance(value, dict)}
    lines = [*_pairs(plain)]
    for kind, entries in tables.items():
        for name, entry in entries.items() if isinstance(entries, dict) else ():
            if isinstance(entry, dict):
                lines += ["", f"[{_key(kind)}.{_key(name)}]", *_pairs(entry)]
    return "\n".join(lines).lstrip("\n") + "\n"


def fits_toml(value: Json) -> bool:
    """Whether TOML can hold `value` as it is."""
    try:
        _value(value)
    except ToolError:
        return False
    return True


def _pairs(table: JsonObject) -> Iterator[str]:
    for key, value in table.items():
        yield f"{_key(key)} = {_value(value)}"


def _value(value: Json) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _text(value)
        case int():
            return str(value)
        case float() if math.isfinite(value):
            # TOML wants a digit behind the point and none before the exponent is missing.
            written = repr(value)
            return written if "." in written or "e" in written else f"{written}.0"
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case dict():
            inner = ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items())
            return f"{{ {inner} }}" if inner else "{}"
        case _:
            raise ToolError(INVALID_SETTINGS, f"TOML cannot hold {value!r}")


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    if _SURROGATE.search(text):
        raise ToolError(INVALID_SETTINGS, f"TOML cannot hold half of a character: {text[:80]!r}")
    if "\\" in text and not re.search(r"[\x00-\x08\x0a-\x1f\x7f']", text):
        return f"'{text}'"  # paths of Windows stay readable
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    if character in '"\\':
        return f"\\{character}"
    return _SHORT.get(character) or f"\\u{ord(character):04X}"
