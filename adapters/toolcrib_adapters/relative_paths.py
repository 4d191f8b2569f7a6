"""Relative paths in the command of a stdio server, tied to the folder where they were written.

A crib that several clients share runs in no client's folder; so the folder is noted when a source
is registered. A server that means nothing in it keeps none: a folder may go away.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject


_OF_A_PROJECT: Final = frozenset(
    {"bun", "cargo", "deno", "go", "hatch", "just", "make", "npm", "pdm", "pixi", "pnpm"}
    | {"poetry", "rye", "task", "uv", "yarn"}
)
"""Programs that look for their project in the folder they run in."""
_PROJECT_FILES: Final = (
    *("Cargo.toml", "Makefile", "Taskfile.yml", "deno.json", "go.mod", "justfile"),
    *("package.json", "pixi.toml", "pyproject.toml", "uv.lock"),
)


def with_folder(spec: JsonObject, folder: Path) -> JsonObject:
    """The settings with `cwd` set to `folder` if the command or an argument means something there.

    Args:
        spec: the settings of a source of kind `mcp`.
        folder: where they were written.
    """
    if spec.get("transport") != "stdio" or spec.get("cwd"):
        return spec
    return in_folder(spec, folder) if _means_something(spec, folder) else spec


def in_folder(spec: JsonObject, folder: Path) -> JsonObject:
    """The settings with `cwd` set to `folder`, unless they say where it runs."""
    if spec.get("transport") != "stdio" or spec.get("cwd"):
        return spec
    return {**spec, "cwd": str(folder.absolute())}


def _means_something(spec: JsonObject, folder: Path) -> bool:
    args, command = spec.get("args"), str(spec.get("command"))
    words = [str(word) for word in args] if isinstance(args, list) else []
    if "/" in command and _is_in(command, folder):
        return True
    if Path(command).stem in _OF_A_PROJECT and any(_is_in(f, folder) for f in _PROJECT_FILES):
        return True
    modules = [word for flag, word in pairwise(words) if flag == "-m"]
    return any(_is_module(name, folder) for name in modules) or any(
        _is_in(part, folder) for word in words for part in _parts(word)
    )


def _is_module(name: str, folder: Path) -> bool:
    path = name.replace(".", "/")
    return _is_in(path, folder) or _is_in(f"{path}.py", folder)


def _parts(word: str) -> list[str]:
    """An argument, or what an option like `--root=./data` is set to."""
    return [word.partition("=")[2]] if word.startswith("-") else [word]


def _is_in(text: str, folder: Path) -> bool:
    """Whether `text` is a relative path of something that is there."""
    if not text or "$" in text or Path(text).is_absolute():
        return False
    try:
        return (folder / text).exists()
    except (OSError, ValueError):  # too long, or a null byte: no path at all
        return False
