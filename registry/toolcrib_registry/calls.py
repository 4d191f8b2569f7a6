"""The one path of a call: resolve, authorise, check, dispatch, classify.

Direct calls, meta-tool calls, lists of calls and everything later (plans, retries, fallbacks) go
through `Calls.call`; nothing else talks to a provider, so there is one place where permission is
decided. Failures are results here, never exceptions, except faults of our own.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import anyio

from toolcrib_protocol.call_rules import RepairMode
from toolcrib_protocol.errors import (
    CALL_INTERRUPTED,
    INTERNAL,
    SOURCE_UNAVAILABLE,
    TOOL_TIMED_OUT,
    UNKNOWN_HANDLE,
    ErrorKind,
    ToolError,
)
from toolcrib_protocol.result import CALL_META, META_PREFIX, REPAIRS_META, TOOL_META, Result
from toolcrib_registry.arguments import ready_arguments
from toolcrib_registry.call_context import context_of
from toolcrib_registry.call_rules import rules_for
from toolcrib_registry.call_trail import CallTrail
from toolcrib_registry.checkers import Checkers
from toolcrib_registry.classification import told_honestly
from toolcrib_registry.idempotency_keys import (
    caller_has_key,
    check_key,
    travelling_key,
    with_key_argument,
)
from toolcrib_registry.interaction import IN_A_LIST
from toolcrib_registry.interruption import Interruption
from toolcrib_registry.patience import Patience
from toolcrib_registry.permissions import AllowAll
from toolcrib_registry.places import Places
from toolcrib_registry.ports import CallContext
from toolcrib_registry.presets import with_presets
from toolcrib_registry.result_shape import brought_into_shape, shape_fault, without_data
from toolcrib_registry.stages import Path
from toolcrib_registry.time_limits import (
    DEFAULT_TIMEOUT_SECONDS,
    GRACE_SECONDS,
    check_timeout,
    time_limit,
)
from toolcrib_registry.views import Sight
from toolcrib_registry.work import Work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib_protocol.call_rules import CallRules
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.names import ToolId
    from toolcrib_registry.arguments import ReadyArguments
    from toolcrib_registry.call import Call
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.handles import ReadWish
    from toolcrib_registry.permissions import Policy
    from toolcrib_registry.ports import CallObserver, Providers
    from toolcrib_registry.records import VersionRecord

_log = logging.getLogger(__name__)

MOST_CALLS_AT_ONCE: Final = 50
"""How many calls one list may hold; all of them run at the same time."""
MOST_LIST_BYTES: Final = 100_000
"""How much the results of one list take together; what is larger is kept, like any other."""
LEAST_SHARE_BYTES: Final = 2_000


class Calls:
    """Carries out calls against the catalogue's newest snapshot.

    Attributes:
        observer: told how each call ended, or None.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        providers: Providers,
        *,
        policy: Policy | None = None,
        checkers: Checkers | None = None,
        observer: CallObserver | None = None,
        path: Path | None = None,
    ) -> None:
        self._catalogue = catalogue
        self._providers = providers
        self._policy = policy or AllowAll()
        self._checkers = checkers or Checkers()
        self.observer = observer
        self._interruption = Interruption()
        self._path = path or Path()
        keeps_places = any(isinstance(stage, Places) for stage in self._path.stages)
        innermost = () if keeps_places else (Places(),)
        stages = (*self._path.stages, *innermost)
        self._carried = replace(self._path, stages=stages).around(self._dispatched)
        self.grace_seconds = GRACE_SECONDS
        self.misshapen: Counter[ToolId] = Counter()
        """How many results of each tool broke its output schema."""

    async def call(self, call: Call) -> Result:
        """What the call brought back; a failure is a result with an error."""
        trail = CallTrail()
        try:
            result = await self._ended(call, trail)
        except BaseException as error:
            # A fault of ours, or the caller went away.
            self._write_down(call, trail, _fault(call) if isinstance(error, Exception) else None)
            raise
        if self.observer is not None:
            source = None if trail.record is None else trail.record.source
            self.observer.call_ended(source, result, trail.seconds, trail.attempts)
        self._write_down(call, trail, result)
        return result

    async def _ended(self, call: Call, trail: CallTrail) -> Result:
        """How the call ended, marked with what the caller is told about it."""
        try:
            work = await self._prepared(call, trail)
        except ToolError as error:
            result = Result.failed(error)
            if self._path.recorder is not None:
                result = replace(result, meta={CALL_META: trail.id})
            return result
        carried, has_key = await self._interruptible(work), caller_has_key(work)
        result = told_honestly(carried, work.record.contract, has_key=has_key)
        result = self._in_shape(result, work.record)
        if self._path.kept is not None:
            result = await self._path.kept.keep_large(work, result)
        if self._path.recorder is not None:
            trail.facts[CALL_META] = trail.id
        return _marked(result, work)

    def _write_down(self, call: Call, trail: CallTrail, result: Result | None) -> None:
        if self._path.recorder is not None:
            self._path.recorder.ended(call, trail, result)

    async def _prepared(self, call: Call, trail: CallTrail) -> Work:
        """The call, resolved, allowed, its arguments checked.

        Raises:
            ToolError: it may not be carried out.
        """
        snapshot = self._catalogue.snapshot
        record = trail.record = self.resolve(call)
        rules = trail.rules = rules_for(snapshot, record)
        given = call.arguments
        if self._path.kept is not None:
            given = await self._path.kept.put_back(call, record)
        if call.key is not None:
            check_key(call.key)
        check_timeout(call.timeout_seconds)
        given = with_key_argument(call, record, given, trail.id)
        arguments = self._checked(record, given, rules)
        trail.note("checked")
        source = snapshot.sources.get(record.source)
        sent_key = travelling_key(call, record, source, arguments.values, trail.id)
        limit = time_limit(snapshot, record, rules, call)
        patience = Patience(limit.seconds + self.grace_seconds)
        return Work(
            call,
            record,
            arguments,
            rules,
            patience,
            limit.seconds,
            trail,
            self.call,
            limit=limit,
            sent_key=sent_key,
        )

    async def read(self, wish: ReadWish, call: Call) -> Result:
        """A piece of a result that was kept because it was large; a failure is a result."""
        kept = self._path.kept
        if kept is None:
            return Result.failed(ToolError(UNKNOWN_HANDLE, "no results are kept here"))
        try:
            return await kept.read(wish, call)
        except ToolError as error:
            return Result.failed(error)

    async def about(self, call: Call, method: str, params: JsonObject) -> JsonObject:
        """What the source of a tool answers to a request about an earlier call: its task.

        Raises:
            ToolError: the caller may not use the tool, or the source does not answer.
        """
        source = self.resolve(call).source
        context = CallContext(
            DEFAULT_TIMEOUT_SECONDS,
            call.caller,
            call.report_progress,
            call.meta,
            call.caller_headers,
            interaction=call.interaction,
        )
        return await self._providers.provider(source).request(method, params, context)

    def interrupt(self) -> None:
        """End the calls that run, and those to come: the crib ends.

        Each is answered honestly: to be repeated where that is harmless, of unknown outcome
        elsewhere.
        """
        self._interruption.begin()

    async def call_many(self, calls: Sequence[Call]) -> list[Result]:
        """The results of all calls, in their order; they cost the maximum, not the sum.

        Nobody is asked within a list: whose question is it that a person sees?
        """
        results: list[Result] = [Result()] * len(calls)
        share = _share(len(calls))

        async def keep(position: int, call: Call) -> None:
            try:
                alone = replace(call, interaction=IN_A_LIST, most_result_bytes=share)
                results[position] = await self.call(alone)
            except Exception:  # noqa: BLE001 - a worker's border: our fault in one call must not cancel its siblings
                _log.exception("the call of %r failed inside toolcrib", call.tool)
                results[position] = _fault(call)

        async with anyio.create_task_group() as group:
            for position, call in enumerate(calls):
                group.start_soon(keep, position, call)
        return results

    def resolve(self, call: Call) -> VersionRecord:
        """The version that will answer.

        Raises:
            ToolError: `unknown_tool` (also for what is not visible there), `no_such_version`,
                `invalid_version`.
        """
        sight = Sight(self._catalogue.snapshot, call.view, self._policy, call.caller)
        return sight.resolve(call.tool, call.version)

    def _checked(self, record: VersionRecord, given: Json, rules: CallRules) -> ReadyArguments:
        group = self._catalogue.snapshot.groups.get(record.contract.group)
        ready = ready_arguments(
            record,
            self._checkers.of(record),
            given,
            refuses_unknown=group is None or group.refuses_unknown_arguments,
            mode=rules.repair or RepairMode.REPAIR,
        )
        return with_presets(record, ready, self._checkers)

    async def _interruptible(self, work: Work) -> Result:
        if self._interruption.has_begun:
            text = "this crib is ending; nothing was called"
            return Result.failed(ToolError(SOURCE_UNAVAILABLE, text, ErrorKind.RETRYABLE))
        with self._interruption.scope():
            return await self._carried(work)
        tool = work.record.contract.id
        text = f"this crib was told to end while {tool} ran; the call may have run"
        interrupted = ToolError(CALL_INTERRUPTED, text, ErrorKind.RETRYABLE)
        return Result.failed(interrupted)

    async def _dispatched(self, work: Work) -> Result:
        """One attempt, at the innermost: the provider is called."""
        try:
            work.trail.sent_off(work.arguments)
            result = await self._sent(work)
        except ToolError as error:
            result = Result.failed(error)
        work.trail.answered(result)
        return result

    async def _sent(self, work: Work) -> Result:
        record = work.record
        provider = self._providers.provider(record.source)
        context = context_of(work, self.grace_seconds)
        with work.patience.limit():
            return await provider.call(record.upstream_name, work.arguments.values, context)
        seconds = context.patience_of_source().seconds
        text = f"{record.contract.id} gave no answer within {seconds:g} s; the call may have run"
        raise ToolError(TOOL_TIMED_OUT, text, ErrorKind.RETRYABLE)

    def _in_shape(self, result: Result, record: VersionRecord) -> Result:
        """The result, flagged and counted if it breaks the tool's output schema."""
        checker = self._checkers.of_output(record)
        fault = shape_fault(result, checker)
        if fault is None or checker is None:
            return result
        self.misshapen[record.tool] += 1
        schema = record.contract.output_schema or {}
        return brought_into_shape(result, checker, schema) or without_data(result, fault)


def _fault(call: Call) -> Result:
    text = f"a fault inside toolcrib calling {call.tool!r}; its log has the details"
    return Result.failed(ToolError(INTERNAL, text))


def _share(calls: int) -> int:
    """How much each result of a list may take."""
    return max(MOST_LIST_BYTES // max(calls, 1), LEAST_SHARE_BYTES)


def _marked(result: Result, work: Work) -> Result:
    record, arguments = work.record, work.arguments
    facts: JsonObject = {TOOL_META: f"{record.contract.id}@{record.version}", **work.trail.facts}
    if arguments.unknown:
        facts[f"{META_PREFIX}unknown_arguments"] = [str(name) for name in arguments.unknown]
    if arguments.repairs and REPAIRS_META not in facts:
        facts[REPAIRS_META] = [str(repair) for repair in arguments.repairs]
    return replace(result, meta={**result.meta, **facts})
