"""What a text on the command line means as a Python target: a file or a module."""

from __future__ import annotations

from pathlib import Path

from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError


def python_target(text: str) -> str:
    """An absolute path for a file, a module name as it is.

    Raises:
        ToolError: `invalid_settings` if it is neither.
    """
    path = Path(text).expanduser()
    if path.is_file():
        return str(path.absolute())
    if path.suffix != ".py" and all(part.isidentifier() for part in text.split(".")):
        return text
    raise ToolError(INVALID_SETTINGS, f"{text!r} is neither a Python file nor a module's name")
