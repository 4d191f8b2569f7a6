"""What travels with a call, who carries it out and who counts it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from toolcrib_registry.interaction import NOBODY
from toolcrib_registry.patience import Patience

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.result import Result
    from toolcrib_registry.interaction import Interaction
    from toolcrib_registry.notices import Notice
    from toolcrib_registry.permissions import Caller


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a call has come: `progress` of `total` (None if not known), and words."""

    progress: float
    total: float | None = None
    message: str | None = None


class Notices(Protocol):
    """What the running sources tell on their own."""

    def hear(self, listener: Callable[[Notice], None]) -> Callable[[], None]:
        """Hand every notice to `listener`, which must not block or raise; returns what ends it."""
        ...


@dataclass(frozen=True, slots=True)
class CallLog:
    """Where the log messages of one call go.

    Attributes:
        report: takes `{level, data, logger?}`, as MCP writes it.
        level: the lowest level that is wanted; None leaves it to the source.
    """

    report: Callable[[JsonObject], Awaitable[None]]
    level: str | None = None


@dataclass(frozen=True, slots=True)
class CallContext:
    """What travels with a call to its source.

    Attributes:
        timeout_seconds: when the source has to give up; the inner limit ends first.
        caller: who asks.
        report_progress: where progress goes, or None if the caller did not ask for it.
        meta: `_meta` keys that may go to the source (trace context), already filtered.
        caller_headers: the HTTP headers of the caller's own request, lower case; a source may take
            only what its settings name, and nothing may write them down.
        interaction: how the caller can be asked.
        log: where the log messages of this call go, or None if the caller wants none.
        let_go: called when the source ends the stream of its answer and goes on; the caller can
            then be let go, too, and comes back for the rest. None if it would not.
        patience: the running time limit of `timeout_seconds`, which progress may begin anew; None:
            the source keeps its own.
        reconnect_seconds: how long to wait for a connection that was lost; None: as long as the
            call may take. A source that was not started yet is waited for in any case.
        session: what tells apart the conversations of one caller, or empty.
        own_headers: headers of the crib's own for this request to an HTTP source: the key by which
            the tool knows the call again. They say nothing about who calls.
    """

    timeout_seconds: float
    caller: Caller
    report_progress: Callable[[Progress], Awaitable[None]] | None = None
    meta: JsonObject = field(default_factory=dict)
    caller_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    interaction: Interaction = NOBODY
    log: CallLog | None = None
    let_go: Callable[[], Awaitable[None]] | None = None
    patience: Patience | None = None
    reconnect_seconds: float | None = None
    session: str = ""
    own_headers: Mapping[str, str] = field(default_factory=dict)

    def patience_of_source(self) -> Patience:
        """The time limit that the source has to keep."""
        return self.patience or Patience(self.timeout_seconds)


class CallObserver(Protocol):
    """Whoever counts calls."""

    def call_ended(self, source: str | None, result: Result, seconds: float, attempts: int) -> None:
        """A call ended, for which the source was asked so often. Must not block or raise.

        `source` is None where no tool was found.
        """
        ...


class Provider(Protocol):
    """A running source, as the path of a call sees it."""

    async def call(self, upstream_name: str, arguments: JsonObject, context: CallContext) -> Result:
        """Call one tool. A tool's own failure is a Result; cancelling the caller cancels the call.

        A tool that wants an answer first gets it through `context.interaction`, or the Result asks.

        Raises:
            ToolError: `source_unavailable` (the call did not leave), `source_disconnected` (it did,
                no answer), `tool_timed_out`, `tool_crashed`, `needs_sign_in`, `needs_input`,
                `upstream_protocol`, `not_callable`.
        """
        ...

    def capabilities(self) -> JsonObject | None:
        """What the source offers besides tools, as MCP's server capabilities; None: not known yet.

        What a source said last holds while it is away.
        """
        ...

    async def request(self, method: str, params: JsonObject, context: CallContext) -> JsonObject:
        """The raw answer to an MCP request that calls no tool (resources, prompts, completions).

        `resources/subscribe` and `resources/unsubscribe` are counted by URI, hold over reconnects,
        and are put in the words of the source's protocol revision.

        Raises:
            ToolError: as `call`; `not_offered` if the source has no such thing. A refusal of the
                source's own has its `jsonrpc_code`, `jsonrpc_message` and `jsonrpc_data` in the
                details.
        """
        ...


class Providers(Protocol):
    """The running sources of this process."""

    def provider(self, source: str) -> Provider:
        """The running source of that name.

        Raises:
            ToolError: `source_unavailable` if it is not running here, with its state.
        """
        ...
