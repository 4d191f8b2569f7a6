"""Reading on in a kept result: a range, a path, a filter; bounded like every other answer.

Each time, whoever asks has to be the caller whose result it is, and has to be allowed to use the
tool it came from, which must not be hidden meanwhile; otherwise it is as if there were no such
handle.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from anyio import CapacityLimiter, to_thread

from toolcrib_protocol.call_rules import LARGEST_RESULT
from toolcrib_protocol.content import block_problem, text_block
from toolcrib_protocol.errors import INVALID_ARGUMENTS, ToolError
from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.large_json import parse_large_json
from toolcrib_protocol.names import ToolId
from toolcrib_protocol.result import META_PREFIX, Result
from toolcrib_registry.handles.outline import cut_to_bytes, excerpt_of, shape_of
from toolcrib_registry.handles.selecting import Selection
from toolcrib_registry.handles.sizes import block_size, is_value_larger
from toolcrib_registry.handles.vault import unknown
from toolcrib_registry.permissions import AllowAll
from toolcrib_registry.views import Sight

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.call import Call
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.handles.vault import Kept, Vault
    from toolcrib_registry.permissions import Policy

READ_META: Final = f"{META_PREFIX}read"
"""`_meta` key of what was read: `kind` (`json`, `text`, `blocks`), and where it goes on."""
DEFAULT_READ_BYTES: Final = 25_000
_LARGE: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class ReadWish:
    """What somebody wants to read.

    Attributes:
        handle: of which kept result.
        path: from the whole value on.
        filter: over what the path picks.
        range: from which character or item, and before which; None: as much as fits.
    """

    handle: str
    path: str | None = None
    filter: str | None = None
    range: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read: a piece, and what of the whole it is.

    Attributes:
        value: the piece.
        blocks: the piece as content blocks, where it is one or several; else None.
        start: its first character or item.
        end: the one behind its last.
        total: how many there are; None where it is not a text or a list.
        note: what is missing, in words; empty if nothing is.
    """

    value: Json
    blocks: tuple[JsonObject, ...] | None = None
    start: int = 0
    end: int = 0
    total: int | None = None
    note: str = ""

    def as_result(self) -> Result:
        """The piece as a model reads it; structured content would say it a second time."""
        facts: JsonObject = {"kind": "text" if isinstance(self.value, str) else "json"}
        if self.total is not None:
            facts = {**facts, "start": self.start, "end": self.end, "total": self.total}
        if self.note:
            facts["is_cut"] = True
        content: tuple[JsonObject, ...] = (text_block(self._text()),)
        if self.blocks is not None:
            facts["kind"], content = "blocks", self.blocks
        if self.note:
            content = (*content, text_block(f"[{self.note}]"))
        return Result(content=content, meta={READ_META: facts})

    def _text(self) -> str:
        return self.value if isinstance(self.value, str) else dump_json(self.value)


class HandleReader:
    """Finds kept results for their callers, and reads in them."""

    def __init__(
        self, vault: Vault, catalogue: Catalogue | None = None, *, policy: Policy | None = None
    ) -> None:
        """A reader; without a catalogue nothing is asked about the tools."""
        self._vault = vault
        self._catalogue = catalogue
        self._policy = policy or AllowAll()
        # A parsed result takes several times its size in memory, so large ones take turns.
        self._readers = CapacityLimiter(1)

    async def read(self, wish: ReadWish, call: Call) -> Reading:
        """What `wish` asks for, as much of it as the caller takes.

        Args:
            wish: the handle, and what of it.
            call: who asks, at which endpoint, and how much fits.

        Raises:
            ToolError: `unknown_handle`, `invalid_expression`, `expression_budget`,
                `invalid_arguments` for a range that fits nothing.
        """
        kept = await self.found(wish.handle, call)
        most = LARGEST_RESULT if call.takes_whole else DEFAULT_READ_BYTES
        selection = Selection.read(wish.path, wish.filter)
        is_text = selection.is_whole and kept.facts.get("is_list") is not True
        if is_text and (wish.range is not None or kept.record.size > most):
            return await self._characters(kept, wish.range, most)
        value = await self._picked(kept, selection)
        piece = partial(_piece, value, wish.range, most, has_blocks=_has_blocks(kept))
        return await to_thread.run_sync(piece)

    async def found(self, handle: str, call: Call) -> Kept:
        """What is kept under a handle, if the caller may still have it.

        Raises:
            ToolError: `unknown_handle`.
        """
        kept = await self._vault.find(handle, call.caller)
        if self._catalogue is not None:
            sight = Sight(self._catalogue.snapshot, call.view, self._policy, call.caller)
            if not sight.knows(self.tool_of(kept)):
                raise unknown(handle)
        return kept

    @staticmethod
    def tool_of(kept: Kept) -> ToolId:
        """The tool whose result it is."""
        return ToolId(str(kept.facts.get("group")), str(kept.facts.get("tool")))

    async def picked(self, kept: Kept, path: str | None, chosen: str | None) -> Json:
        """The whole of what a path and a filter pick.

        Raises:
            ToolError: `unknown_handle`, `invalid_expression`, `expression_budget`.
        """
        return await self._picked(kept, Selection.read(path, chosen))

    async def _picked(self, kept: Kept, selection: Selection) -> Json:
        # What is small need not wait for what is large.
        turn = self._readers if kept.record.size > _LARGE else CapacityLimiter(1)
        async with turn:
            text = await self._vault.text(kept, kept.streams[0], 0, kept.streams[0].characters)
            blocks = await self._vault.text(kept, kept.streams[1], 0, kept.streams[1].characters)
            return await to_thread.run_sync(partial(_selected, kept, text, blocks, selection))

    async def _characters(self, kept: Kept, wanted: tuple[int, int] | None, most: int) -> Reading:
        """A range of the text of the whole value; only that part of it is opened."""
        stream = kept.streams[0]
        start, end = _bounds(wanted, stream.characters)
        text = await self._vault.text(kept, stream, start, min(end, start + most))
        return _text_piece(text, start, end, stream.characters, most)


def _has_blocks(kept: Kept) -> bool:
    return kept.facts.get("is_blocks") is True or kept.streams[1].characters > 0


def _selected(kept: Kept, text: str, blocks_text: str, selection: Selection) -> Json:
    """What is picked; run in a thread."""
    value = _parsed(kept, text, selection)
    if kept.facts.get("is_blocks") is True:
        return selection.of(value, value)
    return selection.of(value, parse_large_json(blocks_text) if blocks_text else [])


def _parsed(kept: Kept, text: str, selection: Selection) -> Json:
    if kept.facts.get("is_json") is True:
        return parse_large_json(text)
    if selection.is_whole:
        return text
    try:
        return parse_large_json(text)
    except ToolError:
        return text  # It is no JSON: what picks in it meets a text.


def _bounds(wanted: tuple[int, int] | None, total: int) -> tuple[int, int]:
    """The range that is meant, inside what there is.

    Raises:
        ToolError: `invalid_arguments`.
    """
    if wanted is None:
        return 0, total
    start, end = (max(0, total + bound) if bound < 0 else bound for bound in wanted)
    if start > end or start >= total > 0:
        text = f"the range [{wanted[0]}, {wanted[1]}] is empty; there are {total:,}, from 0 on"
        raise ToolError(INVALID_ARGUMENTS, text)
    return start, min(end, total)


def _piece(value: Json, wanted: tuple[int, int] | None, most: int, *, has_blocks: bool) -> Reading:
    """As much of a range of `value` as fits."""
    if isinstance(value, str):
        start, end = _bounds(wanted, len(value))
        return _text_piece(value[start:end], start, end, len(value), most)
    blocks = _as_blocks(value) if has_blocks else None
    if blocks is not None and wanted is None and sum(map(block_size, blocks)) <= most:
        return Reading(value, blocks)
    if isinstance(value, list):
        return _list_piece(value, wanted, most)
    if wanted is not None:
        text = f"a range is for texts and lists; this is {shape_of(value)}"
        raise ToolError(INVALID_ARGUMENTS, text)
    if not is_value_larger(value, most):
        return Reading(value)
    note = f"cut: it is over {most:,} bytes; pick with path or filter. Shape: {shape_of(value)}"
    return Reading(excerpt_of(value, most), note=note)


def _text_piece(text: str, start: int, end: int, total: int, most: int) -> Reading:
    piece = cut_to_bytes(text, most)
    stop = start + len(piece)
    note = ""
    if stop < end:
        note = f"characters {start:,} to {stop:,} of {total:,}; next: range [{stop}, {end}]"
    return Reading(piece, start=start, end=stop, total=total, note=note)


def _list_piece(items: list[Json], wanted: tuple[int, int] | None, most: int) -> Reading:
    start, end = _bounds(wanted, len(items))
    room, stop = most, start
    while stop < end and not is_value_larger(items[stop], room):
        room -= len(dump_json(items[stop])) + 1
        stop += 1
    total = len(items)
    if stop == end:
        return Reading(items[start:end], start=start, end=end, total=total)
    if stop > start:
        note = f"items {start:,} to {stop:,} of {total:,}; next: range [{stop}, {end}]"
        return Reading(items[start:stop], start=start, end=stop, total=total, note=note)
    note = (
        f"cut: item {start:,} of {total:,} alone is over {most:,} bytes; go on with path "
        f"[{start}]. Shape of it: {shape_of(items[start])}"
    )
    piece: Json = [excerpt_of(items[start], most)]
    return Reading(piece, start=start, end=start + 1, total=total, note=note)


def _as_blocks(value: Json) -> tuple[JsonObject, ...] | None:
    """`value` as content blocks, if it is one, or a list of them."""
    listed = value if isinstance(value, list) else [value]
    blocks = tuple(item for item in listed if isinstance(item, dict) and not block_problem(item))
    return blocks if blocks and len(blocks) == len(listed) else None
