"""Text that others wrote, in a form that every database takes.

What databases refuse (U+0000, lone surrogates) is escaped as in JSON, the rest stays readable.
Without it, one tool with U+0000 in its name would fail the whole list of its source.
"""

from __future__ import annotations

import re
from typing import Final

_REFUSED: Final = re.compile(r"[\\\x00\ud800-\udfff]")
_ESCAPED: Final = re.compile(r"\\(?:\\|u([0-9a-f]{4}))")


def escaped(text: str) -> str:
    """The text to store."""
    return _REFUSED.sub(_escape, text)


def unescaped(stored: str) -> str:
    """The text that was given."""
    return _ESCAPED.sub(_unescape, stored) if "\\" in stored else stored


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return "\\\\" if character == "\\" else f"\\u{ord(character):04x}"


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match.group(1), 16)) if match.group(1) else "\\"
