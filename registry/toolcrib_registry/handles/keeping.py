"""The last stage of the path of a call: large results are kept, and a preview is delivered.

And the first one: a handle in the arguments is replaced by what it stands for, before they are
checked. What one source said goes to another one only where the operator allows it; the model that
passes a handle on has never seen what is in it, so it cannot judge.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from anyio import CapacityLimiter, to_thread

from toolcrib_protocol.call_rules import EVERYWHERE, LARGEST_RESULT
from toolcrib_protocol.content import TEXT, text_block
from toolcrib_protocol.errors import INVALID_ARGUMENTS, NOT_PERMITTED, ErrorKind, ToolError
from toolcrib_protocol.json_value import parse_json
from toolcrib_protocol.result import META_PREFIX
from toolcrib_registry.call_rules import rules_of
from toolcrib_registry.handles.contents import contents_of
from toolcrib_registry.handles.outline import cut_to_bytes, shown
from toolcrib_registry.handles.references import MARK, PATH, references_in, replaced
from toolcrib_registry.handles.sizes import block_size, is_larger, is_value_larger

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.result import Result
    from toolcrib_registry.call import Call
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.checkers import Checkers
    from toolcrib_registry.handles.contents import Contents
    from toolcrib_registry.handles.reading import HandleReader, ReadWish
    from toolcrib_registry.handles.vault import Kept, Vault
    from toolcrib_registry.records import VersionRecord
    from toolcrib_registry.work import Work

_log = logging.getLogger(__name__)

HANDLE_META: Final = f"{META_PREFIX}handle"
"""`_meta` key of a result that was kept: its handle, size, shape and end."""
DEFAULT_MOST_BYTES: Final = 25_000
DEFAULT_SECONDS: Final = 3_600.0
LARGEST_ARGUMENT: Final = 8 * 1024 * 1024
_LARGE: Final = 2_000_000
_MOST_PREVIEW: Final = 3_000
_SMALL_BLOCK: Final = 500
_MOST_HANDLES: Final = 20
_DROPPED_AT_ONCE: Final = 5
"""Whoever keeps something clears away what is over, so that a crib without a sweep stays small."""


class KeptResults:
    """Keeps what is too large, and puts back what arguments name."""

    def __init__(
        self, vault: Vault, reader: HandleReader, catalogue: Catalogue, checkers: Checkers
    ) -> None:
        self._vault = vault
        self._reader = reader
        self._catalogue = catalogue
        self._checkers = checkers
        # Looking into large results takes memory, so they take turns.
        self._lookers = CapacityLimiter(1)

    async def keep_large(self, work: Work, result: Result) -> Result:
        """`result`, or, if it is too large, a preview of it and a handle."""
        if result.interim is not None:
            return result
        most = _most_bytes(work)
        if not is_larger(result, most):
            return result
        return await self._kept(work, result, most)

    async def read(self, wish: ReadWish, call: Call) -> Result:
        """A piece of a kept result, for the caller of `call`.

        Raises:
            ToolError: as `HandleReader.read`.
        """
        reading = await self._reader.read(wish, call)
        # Writing it out takes long if it is large, and the event loop is everybody's.
        return await to_thread.run_sync(reading.as_result)

    async def _kept(self, work: Work, result: Result, most: int) -> Result:
        room = min(_MOST_PREVIEW, most // 3)
        is_large = is_larger(result, _LARGE)
        looked = partial(contents_of, result, room)
        limiter = self._lookers if is_large else None
        contents = await to_thread.run_sync(looked, limiter=limiter)
        kept, why = await self._put(work, contents, is_large=is_large)
        work.trail.note("kept", handle=None if kept is None else kept.name)
        delivered = _delivered(result, _told(contents, kept, why, room), most - room)
        meta: JsonObject = {**result.meta, HANDLE_META: _meta(contents, kept, why)}
        return self._with_shape(replace(delivered, meta=meta), work, result, contents)

    async def _put(
        self, work: Work, contents: Contents, *, is_large: bool
    ) -> tuple[Kept | None, str]:
        """What was kept, or why nothing was."""
        texts = (contents.value, contents.blocks)
        seconds = work.rules.handle_seconds or DEFAULT_SECONDS
        try:
            await self._vault.drop_expired(_DROPPED_AT_ONCE)
            facts = _facts(work, contents)
            caller = work.call.caller
            kept = await self._vault.keep(caller, texts, facts, seconds, is_large=is_large)
        except ToolError as error:
            _log.warning("a large result of %s was not kept: %s", work.record.tool, error.message)
            return None, error.message
        return kept, ""

    def _with_shape(
        self, delivered: Result, work: Work, result: Result, contents: Contents
    ) -> Result:
        """With the excerpt as structured content, for a client that would refuse to go without.

        Only where the excerpt fits the schema: such a client checks that too.
        """
        if not work.call.needs_data or not result.has_data or contents.excerpt is None:
            return delivered
        checker = self._checkers.of_output(work.record)
        if checker is None or checker.check(contents.excerpt):
            return delivered
        return replace(delivered, data=contents.excerpt, has_data=True)

    async def put_back(self, call: Call, record: VersionRecord) -> Json:
        """The arguments of `call` with every handle in them replaced by what it stands for.

        Raises:
            ToolError: `unknown_handle`, `not_permitted`, `invalid_expression`,
                `expression_budget`, `invalid_arguments` if that is too large.
        """
        given = call.arguments
        if isinstance(given, str):
            given = _as_json(given)
        if not isinstance(given, dict | list):
            return call.arguments
        references = references_in(given)
        if not references:
            return call.arguments
        if len(references) > _MOST_HANDLES:
            text = f"{len(references)} handles in one call are more than {_MOST_HANDLES}"
            raise ToolError(INVALID_ARGUMENTS, text)
        values: dict[object, Json] = {}
        for reference in references:
            kept = await self._reader.found(reference.handle, call)
            self._check_may_go(kept, record)
            values[reference] = await self._reader.picked(kept, reference.path, reference.filter)
            if await to_thread.run_sync(is_value_larger, values[reference], LARGEST_ARGUMENT):
                text = (
                    f"what {reference.handle} stands for is over {LARGEST_ARGUMENT:,} bytes; pick "
                    "a part of it with `path` or `filter`"
                )
                raise ToolError(INVALID_ARGUMENTS, text)
        return replaced(given, values.__getitem__)

    def _check_may_go(self, kept: Kept, record: VersionRecord) -> None:
        """Refuse to pass what one source said on to another, unless the operator allows it."""
        tool, source = self._reader.tool_of(kept), str(kept.facts.get("source"))
        if source == record.source or tool.group == record.tool.group:
            return
        allowed = rules_of(self._catalogue.snapshot, tool, source).results_may_go_to or ()
        if EVERYWHERE in allowed or record.source in allowed:
            return
        text = (
            f"{kept.name} holds a result of {tool} (source {source!r}), which may not be passed "
            f"to {record.tool} (source {record.source!r}): what one source said goes to another "
            "only where the operator allows it, with: toolcrib rules set "
            f"source:{source} results_may_go_to={record.source}"
        )
        raise ToolError(NOT_PERMITTED, text, ErrorKind.NEEDS_HUMAN)


def _most_bytes(work: Work) -> int:
    call = work.call
    if call.takes_whole:
        return LARGEST_RESULT
    of_contract = work.record.contract.limits.max_result_bytes
    default = LARGEST_RESULT if call.is_mirrored else DEFAULT_MOST_BYTES
    usual = work.rules.max_result_bytes or of_contract or default
    return min(usual, call.most_result_bytes or usual)


def _as_json(given: str) -> Json:
    if f'"{MARK}"' not in given:
        return None
    try:
        return parse_json(given)
    except ToolError:
        return None  # Whether it can be mended is asked later.


def _facts(work: Work, contents: Contents) -> JsonObject:
    tool = work.record.tool
    return {
        "group": tool.group,
        "tool": tool.name,
        "source": work.record.source,
        "is_json": contents.is_json,
        "is_list": contents.is_list,
        "is_blocks": contents.is_blocks,
        "shape": contents.shape,
    }


def _meta(contents: Contents, kept: Kept | None, why: str) -> JsonObject:
    facts: JsonObject = {"shape": contents.shape}
    if kept is None:
        return {**facts, "handle": None, "reason": why}
    until = datetime.fromtimestamp(kept.record.expires, UTC).isoformat(timespec="seconds")
    return {**facts, "handle": kept.name, "bytes": kept.record.size, "expires": until}


def _told(contents: Contents, kept: Kept | None, why: str, room: int) -> str:
    """What a model reads instead of the result."""
    preview = "" if contents.excerpt is None else cut_to_bytes(shown(contents.excerpt), room)
    shape = f"shape: {cut_to_bytes(contents.shape, room)}\npreview: {preview}"
    if kept is None:
        return f"[The result is too large and was not kept: {why}]\n{shape}"
    until = datetime.fromtimestamp(kept.record.expires, UTC).strftime("%Y-%m-%d %H:%M UTC")
    hints = _hints(contents)
    return (
        f"[The result has {kept.record.size:,} bytes; all of it is kept until {until} as "
        f"{kept.name}. Read on with read_result, handle and {hints}. As an argument of another "
        f'call: {{"{MARK}": "{kept.name}", "{PATH}": "..."}}]\n{shape}'
    )


def _hints(contents: Contents) -> str:
    if not contents.is_json:
        return "range ([start, end] in characters)"
    if contents.is_blocks:
        return "path (content[0])"
    rows = "it" if contents.is_list else "it.rows"
    return f"path (as in rows[5].name), filter (as in [r for r in {rows} if r.x > 3]) or range"


def _delivered(result: Result, told: str, room: int) -> Result:
    """The result with `told` instead of what is large; small blocks and pictures stay."""
    blocks: list[JsonObject] = [text_block(told)]
    for index, block in enumerate(result.content):
        size = block_size(block)
        is_text = block.get("type") == TEXT
        if is_text and size > _SMALL_BLOCK:
            continue
        if size <= room:
            room -= size
            blocks.append(block)
        else:
            blocks.append(text_block(f"[{block.get('type')} block {index}: kept with the rest]"))
    error = result.error
    if error is not None:
        message = cut_to_bytes(error.message, _SMALL_BLOCK)
        error = ToolError(error.code, message, error.kind, _small(error.details))
    return replace(result, content=tuple(blocks), data=None, has_data=False, error=error)


def _small(details: JsonObject) -> JsonObject:
    return {} if is_value_larger(details, _MOST_PREVIEW) else details
