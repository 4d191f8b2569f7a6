"""JSON with lone surrogates, made fit for a wire.

Pure. They are legal as escapes and have no UTF-8 form. Many parsers (pydantic's among them) refuse
such escapes, and a message that the other side cannot parse is a call without an answer; so each
becomes U+FFFD, as undecodable bytes do.
"""

from __future__ import annotations

import json


def written(value: object) -> str:
    """`value` as JSON text that has a UTF-8 form.

    Raises:
        ValueError: the value cannot be written as JSON.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
