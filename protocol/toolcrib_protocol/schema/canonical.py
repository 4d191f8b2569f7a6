"""One text for each JSON value, and a fingerprint of it.

Keys are sorted, nothing is padded, everything outside ASCII is escaped, integers keep their digits.
`1` and `1.0` are different texts, because they are different bytes on the wire. Used for contract
fingerprints and cache keys.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from toolcrib_protocol.errors import INVALID_JSON, ToolError

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json


def canonical_json(value: Json) -> bytes:
    """The canonical text of `value`, in ASCII.

    Raises:
        ToolError: `invalid_json` for what is not JSON or is nested too deeply.
    """
    try:
        text = json.dumps(value, sort_keys=True, allow_nan=False, separators=(",", ":"))
    except (ValueError, TypeError, RecursionError) as error:
        raise ToolError(INVALID_JSON, f"the value cannot be written as JSON: {error}") from error
    return text.encode("ascii")


def fingerprint(value: Json) -> str:
    """The SHA-256 of the canonical text, in hexadecimal.

    Raises:
        ToolError: `invalid_json`.
    """
    return hashlib.sha256(canonical_json(value)).hexdigest()
