"""Relative paths in the command of a stdio server, tied to the folder where they were written.

A crib that several clients share runs in no client's folder; so the folder is noted when a source
is registered. A server that names nothing in it keeps none: a folder may go away.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject


def with_folder(spec: JsonObject, folder: Path) -> JsonObject:
    """The settings with `cwd` set to `folder` if the command or an argument means something there.

    Args:
        spec: the settings of a source of kind `mcp`.
        folder: where they were written.
    """
    if spec.get("transport") != "stdio" or spec.get("cwd"):
        return spec
    args = spec.get("args")
    words = args if isinstance(args, list) else []
    command = spec.get("command")
    names_a_file = isinstance(command, str) and "/" in command and _is_in(command, folder)
    if names_a_file or any(_is_in(part, folder) for word in words for part in _parts(word)):
        return {**spec, "cwd": str(folder.absolute())}
    return spec


def _parts(word: Json) -> list[str]:
    """An argument, or what an option like `--root=./data` is set to."""
    text = str(word)
    return [text.partition("=")[2]] if text.startswith("-") else [text]


def _is_in(text: str, folder: Path) -> bool:
    """Whether `text` is a relative path of something that is there."""
    if not text or "$" in text or Path(text).is_absolute():
        return False
    try:
        return (folder / text).exists()
    except (OSError, ValueError):  # too long, or a null byte: no path at all
        return False
