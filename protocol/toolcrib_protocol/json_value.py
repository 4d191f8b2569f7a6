"""JSON as Python values, and the strict way in and out.

Integers keep every digit; NaN and infinities are refused; what is too large or too deep is refused
with a sentence instead of a crash. Used wherever text from outside becomes values.
"""

from __future__ import annotations

import json
import math
from typing import Final, TypeAlias

from typing_extensions import TypeAliasType

from toolcrib_protocol.errors import INVALID_JSON, ToolError

# A named alias, because pydantic cannot follow a recursive one without a name.
Json = TypeAliasType("Json", "bool | int | float | str | list[Json] | dict[str, Json] | None")
JsonObject: TypeAlias = dict[str, Json]

MOST_BYTES: Final = 64_000_000
"""The longest JSON text that is read, in bytes."""


def parse_json(text: str | bytes, *, most_bytes: int = MOST_BYTES) -> Json:
    """The value that `text` writes, integers digit for digit.

    Raises:
        ToolError: `invalid_json` with line and column, or the limit that was passed.
    """
    if len(text) > most_bytes:
        raise ToolError(
            INVALID_JSON, f"JSON of {len(text):,} bytes is over the limit of {most_bytes:,}"
        )
    try:
        value: Json = json.loads(text, parse_constant=_refused, parse_float=_finite)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ToolError(INVALID_JSON, f"not valid JSON at {where}: {error.msg}") from error
    except UnicodeDecodeError as error:
        raise ToolError(
            INVALID_JSON, f"not valid JSON: the text is not UTF-8 ({error.reason})"
        ) from error
    except RecursionError as error:
        raise ToolError(INVALID_JSON, "the JSON is nested too deeply to be read") from error
    except ValueError as error:
        # Python reads integers of up to 4,300 digits; longer ones take quadratic time.
        raise ToolError(
            INVALID_JSON, f"the JSON holds a number that cannot be read: {error}"
        ) from error
    return value


def dump_json(value: Json, *, indent: int | None = None) -> str:
    """`value` as JSON text: compact, or indented for people.

    Lone surrogates, which are legal in JSON escapes but not in UTF-8, stay escaped.

    Raises:
        ToolError: `invalid_json` if the value cannot be written.
    """
    separators = (",", ":") if indent is None else None
    try:
        text = json.dumps(
            value, ensure_ascii=False, allow_nan=False, separators=separators, indent=indent
        )
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, separators=separators, indent=indent)
    except (ValueError, TypeError, RecursionError) as error:
        raise ToolError(INVALID_JSON, f"the value cannot be written as JSON: {error}") from error
    return text


def _refused(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is too large for a floating-point number")
    return number
