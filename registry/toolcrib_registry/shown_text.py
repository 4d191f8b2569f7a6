"""Addresses as they may be shown: without the passwords and keys that are written in them.

For settings and command lines that people read; what is stored and exported stays as it was
written. A key that is part of a path cannot be told from a path.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json

_MASK: Final = "***"
_ADDRESS: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://|\$\{)[^\s\"'<>]+")
_USER: Final = re.compile(r"(?<=://)([^/?#]*)(?=@)")
_VALUE: Final = re.compile(r"(?<=[?&;#])([^=&;#]+=)([^&;#]+)")
_VARIABLE: Final = re.compile(r"\$\{[^}]*\}")


def without_secrets(text: str) -> str:
    """`text` with user, password and query values of its addresses masked; `${NAME}` stays."""
    return _ADDRESS.sub(lambda found: _masked(found.group()), text)


def shown(value: Json) -> Json:
    """A setting with the addresses in it masked."""
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, list):
        return [shown(item) for item in value]
    if isinstance(value, dict):
        return {key: shown(item) for key, item in value.items()}
    return value


def _masked(address: str) -> str:
    address = _USER.sub(lambda found: _word(found.group()), address)
    return _VALUE.sub(lambda found: found.group(1) + _word(found.group(2)), address)


def _word(text: str) -> str:
    is_variable = _VARIABLE.sub("", text).strip(":") == ""
    return text if is_variable else _MASK
