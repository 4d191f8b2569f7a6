"""Answers that are kept in the ledger: as MCP writes them, sealed, up to a size.

What is larger is not kept, and neither is what JSON cannot write: the call was carried out all the
same, and whoever asks for its answer is told so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.interim import TASK, StartedTask
from toolcrib_protocol.json_value import dump_json, parse_json
from toolcrib_protocol.result import Result

if TYPE_CHECKING:
    from toolcrib_registry.ports import Sealer

LARGEST_ANSWER: Final = 1024 * 1024
"""In bytes of JSON text."""
_KIND: Final = "resultType"


def sealed_answer(result: Result, sealer: Sealer, entry_id: str) -> bytes | None:
    """What is kept of a result, or None if it is too large or cannot be written.

    Raises:
        ToolError: `invalid_settings` if the key ring cannot be used.
    """
    try:
        written = dump_json(result.as_mcp()).encode()
    except ToolError:
        return None
    if len(written) > LARGEST_ANSWER:
        return None
    return sealer.seal(written, _purpose(entry_id))


def read_answer(sealed: bytes, sealer: Sealer, entry_id: str) -> Result:
    """The result that was kept.

    Raises:
        ToolError: `invalid_settings` if it was sealed with a key that is gone.
    """
    answer = parse_json(sealer.open(sealed, _purpose(entry_id)))
    if not isinstance(answer, dict) or answer.get(_KIND) != TASK:
        return Result.from_mcp(answer if isinstance(answer, dict) else {})
    return Result.started(
        StartedTask({k: v for k, v in answer.items() if k not in {_KIND, "_meta"}})
    )


def _purpose(entry_id: str) -> str:
    return f"ledger answer {entry_id}"
