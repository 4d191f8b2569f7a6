"""Contract files on disk: JSON or YAML text, read with bounds, to the tools it describes.

Text of others: size, depth and number of values are bounded, YAML is read without tags that make
objects, and aliases cannot blow a small file up. Which forms are understood is
`toolcrib_protocol.contract_file`'s business.
"""

from __future__ import annotations

import datetime
import math
from typing import TYPE_CHECKING, Final

import yaml

from toolcrib_protocol.contract_file import ContractFile, read_contracts
from toolcrib_protocol.errors import INVALID_CONTRACT, ToolError
from toolcrib_protocol.json_value import parse_json

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_protocol.json_value import Json

LARGEST_FILE_BYTES: Final = 32 * 1024 * 1024
MOST_VALUES: Final = 1_000_000
DEEPEST: Final = 200
YAML_SUFFIXES: Final = frozenset({".yaml", ".yml"})
SUFFIXES: Final = YAML_SUFFIXES | {".json"}


def read_contract_document(path: Path, default_group: str) -> ContractFile:
    """The tools that the file at `path` describes.

    Args:
        path: a `.json`, `.yaml` or `.yml` file; a YAML file may hold several documents.
        default_group: the home group of contracts that name none.

    Raises:
        ToolError: `invalid_contract` with file, line and column, or what is wrong as a whole.
    """
    text = _text_of(path)
    read = _yaml if path.suffix.lower() in YAML_SUFFIXES else parse_json
    try:
        return read_contracts(_Counter().plain(read(text)), default_group)
    except ToolError as error:
        raise _unreadable(path, error.message) from error


def _text_of(path: Path) -> str:
    try:
        size = path.stat().st_size
        if size > LARGEST_FILE_BYTES:
            raise _unreadable(
                path, f"{size} bytes are more than the {LARGEST_FILE_BYTES} that are read"
            )
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise _unreadable(path, "there is no such file") from error
    except UnicodeDecodeError as error:
        raise _unreadable(path, f"it is not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise _unreadable(path, f"it cannot be read: {error.strerror or error}") from error


def _yaml(text: str) -> object:
    try:
        documents: list[object] = [d for d in yaml.safe_load_all(text) if d is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise _problem(f"{place}{error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise _problem(_reason(error)) from error
    return documents[0] if len(documents) == 1 else documents


def _reason(error: Exception) -> str:
    return "it is nested too deep" if isinstance(error, RecursionError) else str(error)


class _Counter:
    """Copies a parsed value to plain JSON, counting: shared parts cannot multiply without end."""

    def __init__(self) -> None:
        self._values = 0

    def plain(self, value: object, depth: int = 0) -> Json:
        """`value` as JSON; YAML's dates become text.

        Raises:
            ToolError: too many values, too deep, or something JSON does not have.
        """
        self._values += 1
        if self._values > MOST_VALUES:
            raise _problem(f"it holds more than {MOST_VALUES} values")
        if depth > DEEPEST:
            raise _problem(f"it is nested deeper than {DEEPEST} levels")
        if isinstance(value, dict):
            return {self._key(key): self.plain(inner, depth + 1) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.plain(inner, depth + 1) for inner in value]
        return self._leaf(value)

    def _leaf(self, value: object) -> Json:
        if isinstance(value, datetime.date):
            return value.isoformat()
        if isinstance(value, float) and not math.isfinite(value):
            raise _problem(f"{value} is not a JSON number")
        if value is None or isinstance(value, str | int | float):
            return value
        raise _problem(f"a {type(value).__name__} is not JSON; put the text in quotes")

    def _key(self, key: object) -> str:
        if isinstance(key, str):
            return key
        # YAML reads `on:` and `yes:` as booleans and `1:` as a number.
        raise _problem(f"the key {key!r} is not text; put it in quotes")


def _problem(problem: str) -> ToolError:
    return ToolError(INVALID_CONTRACT, problem)


def _unreadable(path: Path, problem: str) -> ToolError:
    return ToolError(INVALID_CONTRACT, f"{path}: {problem}")
