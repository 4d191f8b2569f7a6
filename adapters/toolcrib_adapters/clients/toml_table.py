"""One table of a TOML document, set or taken out without touching the rest.

Python reads TOML and writes none; only the lines of the table and of its sub-tables are touched.
Pure; knows nothing of clients. Whether the result says what it should, `config_file.py` checks.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_protocol.json_value import Json, JsonObject

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"\s*\[([^\[\]]+)\]\s*(?:#.*)?$")


def written_table(path: tuple[str, ...], entry: JsonObject) -> str:
    """The table at `path` as text; objects inside become sub-tables."""
    plain = {key: value for key, value in entry.items() if not isinstance(value, dict)}
    inner = {key: value for key, value in entry.items() if isinstance(value, dict)}
    lines = [f"[{_dotted(path)}]", *(f"{_key(key)} = {_value(v)}" for key, v in plain.items())]
    tables = ["\n".join(lines) + "\n"]
    tables += [written_table((*path, key), value) for key, value in inner.items()]
    return "\n".join(tables)


def text_of_table(text: str, path: tuple[str, ...]) -> str | None:
    """The lines of a table and its sub-tables; None if there is none."""
    mine = [line for line, is_mine in _lines(text, path) if is_mine]
    return "".join(mine) or None


def with_table(text: str, path: tuple[str, ...], table: str) -> str:
    """`text` with `table` where the table at `path` is, or at the end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    table = table.rstrip("\r\n").replace("\r\n", "\n").replace("\n", newline) + newline
    kept: list[str] = []
    at: int | None = None
    for line, is_mine in _lines(text, path):
        if is_mine and at is None:
            at = len(kept)
        if not is_mine:
            kept.append(line)
    if at is not None:
        follows = kept[at:]
        gap = [newline] if follows and follows[0].strip() else []
        return "".join([*kept[:at], table, *gap, *follows])
    whole = "".join(kept)
    if whole and not whole.endswith("\n"):
        whole += newline
    return whole + (newline if whole.strip() else "") + table


def without_table(text: str, path: tuple[str, ...]) -> str:
    """`text` without the table at `path` and its sub-tables."""
    kept = "".join(line for line, is_mine in _lines(text, path) if not is_mine)
    return kept.rstrip("\r\n") + kept[len(kept.rstrip()) :][:2].rstrip(" \t") if kept else kept


def _lines(text: str, path: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it belongs to the table at `path`."""
    is_mine = False
    pending: list[str] = []
    for line in text.splitlines(keepends=True):
        header = _HEADER.match(line)
        if header is not None or line.lstrip().startswith("[["):
            # Comments and blank lines before a header belong to what follows them.
            starts_mine = header is not None and _keys(header.group(1))[: len(path)] == path
            yield from ((held, is_mine and starts_mine) for held in pending)
            pending, is_mine = [], starts_mine
            yield line, is_mine
        elif is_mine and (not line.strip() or line.lstrip().startswith("#")):
            pending.append(line)
        else:
            yield from ((held, is_mine) for held in pending)
            pending = []
            yield line, is_mine
    yield from ((held, False) for held in pending)


def _keys(dotted: str) -> tuple[str, ...]:
    parts = re.findall(r'"(?:\\.|[^"\\])*"|\'[^\']*\'|[A-Za-z0-9_-]+', dotted)
    return tuple(_unquoted(part) for part in parts)


def _unquoted(part: str) -> str:
    if part.startswith("'"):
        return part[1:-1]
    try:
        return str(json.loads(part)) if part.startswith('"') else part
    except ValueError:  # an escape that only TOML knows: no key of ours
        return part


def _dotted(path: tuple[str, ...]) -> str:
    return ".".join(_key(part) for part in path)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)


def _value(value: Json) -> str:
    # JSON's strings, numbers, truths and lists are TOML's, too, but for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
