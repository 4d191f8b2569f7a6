"""A wish to call a tool, as a surface, a plan or a fallback brings it to the path of a call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolcrib_registry.interaction import NOBODY, Interaction
from toolcrib_registry.permissions import LOCAL_CALLER, Caller
from toolcrib_registry.views import WHOLE, View

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.names import ToolId
    from toolcrib_registry.ports import CallLog, Progress


@dataclass(frozen=True, slots=True)
class Call:
    """A wish to call a tool.

    Attributes:
        tool: a published name or a reference.
        arguments: what the caller gave, unchecked.
        version: a range that narrows the reference, or None.
        caller: who asks.
        timeout_seconds: the caller's own limit; None for the tool's or the default.
        report_progress: where progress goes, or None.
        meta: `_meta` that may travel to the source.
        caller_headers: see `CallContext`.
        log: where the log messages of this call go, or None.
        let_go: see `CallContext`.
        interaction: how the caller can be asked.
        view: what the endpoint shows at which the call came in, and its limits.
        key: the caller's idempotency key, or None.
        session: what tells apart the conversations of one caller, or empty.
        is_fresh: whether a remembered result will not do.
        stands_in_for: the tools in whose place this one is called, the first one first.
        most_result_bytes: how much of a result the caller takes, if that is less than what the
            rules say.
        takes_whole: whether the caller is a program that takes results of any size.
        is_mirrored: whether the endpoint shows results as the source sends them, however large,
            unless a rule or the tool itself sets a limit.
        needs_data: whether the caller refuses a result without the structured content that the
            tool's output schema promises.
    """

    tool: str
    arguments: Json = None
    version: str | None = None
    caller: Caller = LOCAL_CALLER
    timeout_seconds: float | None = None
    report_progress: Callable[[Progress], Awaitable[None]] | None = None
    meta: JsonObject = field(default_factory=dict)
    caller_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    log: CallLog | None = None
    let_go: Callable[[], Awaitable[None]] | None = None
    interaction: Interaction = NOBODY
    view: View = WHOLE
    key: str | None = None
    session: str = ""
    is_fresh: bool = False
    stands_in_for: tuple[ToolId, ...] = ()
    most_result_bytes: int | None = None
    takes_whole: bool = False
    is_mirrored: bool = False
    needs_data: bool = False
