"""Carries out a call over an open connection, with all the questions it leads to.

A call of a tool, or a request for a prompt or resource: an upstream may ask back at those, too.

Three ways, by the generation of the upstream and of the caller. A modern upstream answers with its
questions: a caller of its generation gets them as the answer, an older one is asked and the
upstream called again. An older upstream asks while the call runs: an older caller is asked then,
and for a modern one the call is parked (`parking.py`). What a caller has to bring back is opaque to
it: a surface seals it.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Final

import anyio
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

from toolcrib_adapters.sources.mcp_upstream.answers import (
    call_result,
    input_required,
    refused_result,
)
from toolcrib_adapters.sources.mcp_upstream.conversation import (
    MOST_QUESTIONS,
    Conversation,
    answered,
    never_ends,
    too_many,
)
from toolcrib_adapters.sources.mcp_upstream.failures import RequestError
from toolcrib_adapters.sources.mcp_upstream.parking import HERE
from toolcrib_adapters.sources.mcp_upstream.unwritable import writable
from toolcrib_protocol.errors import (
    INVALID_ARGUMENTS,
    NEEDS_INPUT,
    ErrorKind,
    ToolError,
)
from toolcrib_protocol.interim import InputRequired
from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.result import Result
from toolcrib_registry.interaction import AnswerError, Question, cannot_ask
from toolcrib_registry.patience import Patience

if TYPE_CHECKING:
    from toolcrib_adapters.sources.mcp_upstream.desk import Desk
    from toolcrib_adapters.sources.mcp_upstream.parking import ParkedCall, ParkingLot
    from toolcrib_adapters.sources.mcp_upstream.wire import Wire
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.interaction import Interaction
    from toolcrib_registry.ports import CallContext

_CALL: Final = "tools/call"
_MOST_ROUNDS: Final = 10
"""How often one call may ask an older caller; more is an upstream that goes in circles."""
_MOST_RETURNS: Final = 20
"""How often a caller of 2026-07-28 is sent back with questions of one call."""
_ROUND_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call of one tool, or one other request at which an upstream may ask back.

    Attributes:
        source: the name of the upstream.
        tool: how messages name the tool.
        params: of the request.
        context: of the call.
        patience: its time limit.
        method: what is requested.
    """

    source: str
    tool: str
    params: JsonObject
    context: CallContext
    patience: Patience
    method: str = _CALL

    async def answer(self, wire: Wire, desk: Desk) -> JsonObject:
        """The raw answer to a request that calls no tool; a question comes as an answer, too.

        Raises:
            RequestError: there is none.
            ToolError: its caller could not be asked, or it was not its turn.
        """
        caller = self.context.interaction
        state = self._brought_back(caller)
        if wire.is_modern:
            answer = await self._modern_answer(wire, state)
            return answer.as_mcp() if isinstance(answer, InputRequired) else answer
        conversation = Conversation(self.tool, caller, self.patience)
        async with desk.call(conversation, self.patience):
            answered_with = await conversation.carry(self._request(wire))
        if conversation.refusal is not None:
            raise conversation.refusal
        if answered_with is None:
            raise RequestError(CONNECTION_CLOSED, "Connection closed")
        return answered_with

    async def carry(self, wire: Wire, desk: Desk, lot: ParkingLot) -> Result:
        """The result of the call, or its question.

        Raises:
            RequestError: it brought no result.
            ToolError: its answer is none, or it was not its turn.
        """
        caller = self.context.interaction
        state = self._brought_back(caller)
        if "parked" in state:
            parked = lot.returned(str(state["parked"]), str(state.get("place")))
            parked.take(caller.responses or {})
            return await self._round(parked)
        if wire.is_modern:
            return await self._modern(wire, state)
        if caller.ask is None and caller.abilities:
            return await self._round(self._parkable(wire, desk, lot))
        conversation = Conversation(self.tool, caller, self.patience)
        async with desk.call(conversation, self.patience):
            return self._ended(await conversation.carry(self._request(wire)), conversation)

    async def _request(self, wire: Wire) -> JsonObject:
        answer = await wire.request(
            self.method,
            self.params,
            patience=self.patience,
            on_progress=self.context.report_progress,
        )
        return writable(answer, self.tool)

    def _brought_back(self, caller: Interaction) -> JsonObject:
        """What the caller was given to bring back.

        Raises:
            ToolError: `invalid_arguments` if this upstream never gave it.
        """
        if caller.state is None:
            return {}
        with suppress(ValueError):
            state = json.loads(caller.state)
            if isinstance(state, dict) and state.get("source") == self.source:
                return state
        text = f"the request state belongs to another question than one of {self.tool}; call again"
        raise ToolError(INVALID_ARGUMENTS, text)

    def _stated(self, wanted: InputRequired, state: JsonObject) -> InputRequired:
        """The question with what its caller has to bring back."""
        return InputRequired(wanted.requests, dump_json({"source": self.source, **state}))

    def _ended(self, answer: JsonObject | None, conversation: Conversation) -> Result:
        if conversation.refusal is not None:
            return refused_result(conversation.refusal, answer)
        if answer is None:
            raise RequestError(CONNECTION_CLOSED, "Connection closed")
        return call_result(answer, self.tool)

    async def _modern(self, wire: Wire, state: JsonObject) -> Result:
        answer = await self._modern_answer(wire, state)
        if isinstance(answer, InputRequired):
            return Result.asking(self.tool, answer)
        return call_result(answer, self.tool, takes_tasks=self.context.interaction.takes_tasks)

    async def _modern_answer(self, wire: Wire, state: JsonObject) -> JsonObject | InputRequired:
        """The answer of a modern upstream, or the question that its caller gets as the answer."""
        caller = self.context.interaction
        params, theirs = {**self.params}, state.get("state")
        if caller.responses is not None:
            params["inputResponses"] = caller.responses
        for _ in range(_MOST_ROUNDS):
            if isinstance(theirs, str):
                params["requestState"] = theirs
            answer = await wire.request(
                self.method,
                params,
                patience=self.patience,
                on_progress=self.context.report_progress,
                abilities=caller.offers,
            )
            wanted = input_required(writable(answer, self.tool), self.tool)
            if wanted is None:
                return answer
            questions = self._answerable(wanted, caller)
            if caller.ask is None:
                return self._sent_back(wanted, state)
            params = {**self.params, "inputResponses": await self._answers(questions, caller)}
            theirs = wanted.state
        raise never_ends(self.tool, _MOST_ROUNDS)

    def _sent_back(self, wanted: InputRequired, state: JsonObject) -> InputRequired:
        """The question of a modern upstream for a modern caller, who brings back the count, too.

        Raises:
            ToolError: `upstream_protocol`: there were enough.
        """
        rounds = state.get("rounds")
        # Who asks for nothing but to be called again may do so for as long as it takes.
        told = (rounds if isinstance(rounds, int) else 0) + bool(wanted.requests)
        if told > _MOST_RETURNS:
            raise never_ends(self.tool, _MOST_RETURNS)
        theirs: JsonObject = {} if wanted.state is None else {"state": wanted.state}
        return self._stated(wanted, {**theirs, "rounds": told})

    def _answerable(self, wanted: InputRequired, caller: Interaction) -> dict[str, Question]:
        """The questions by their keys.

        Raises:
            ToolError: `needs_input` if the caller cannot answer one of them.
        """
        if len(wanted.requests) > MOST_QUESTIONS:
            raise too_many(self.tool)
        questions: dict[str, Question] = {}
        for key, request in wanted.requests.items():
            facts = request if isinstance(request, dict) else {}
            params = facts.get("params")
            question = Question(
                str(facts.get("method")), params if isinstance(params, dict) else {}
            )
            if question.lacking(caller.abilities) is not None:
                raise cannot_ask(self.tool, question, caller)
            questions[key] = question
        return questions

    async def _answers(self, questions: dict[str, Question], caller: Interaction) -> JsonObject:
        """What an older caller answers, all questions put at the same time.

        Raises:
            ToolError: `needs_input` if one of them has no answer.
        """
        answers: JsonObject = {}
        failures: list[ToolError] = []

        async def put(key: str, question: Question) -> None:
            try:
                answers[key] = await answered(self.tool, question, caller, self.patience)
            except ToolError as failure:
                failures.append(failure)
            except AnswerError as error:
                text = f"{self.tool} asks: {question.words!r}, and the client refused: {error}"
                failures.append(ToolError(NEEDS_INPUT, text, ErrorKind.NEEDS_HUMAN))
            if failures:
                tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            for key, question in questions.items():
                tasks.start_soon(put, key, question)
            if not questions:
                await anyio.sleep(_ROUND_SECONDS)
        if failures:
            raise failures[0]
        return answers

    def _parkable(self, wire: Wire, desk: Desk, lot: ParkingLot) -> ParkedCall:
        """The call, started in a task of its own that can outlive its caller's request."""
        endless = Patience(inf)
        caller = self.context.interaction
        wants_progress = self.context.report_progress is not None

        def converse(call: ParkedCall) -> Conversation:
            return Conversation(self.tool, replace(caller, ask=call.ask), endless)

        async def carry(call: ParkedCall) -> JsonObject | None:
            on_progress = call.report_progress if wants_progress else None
            async with desk.call(call.conversation, self.patience):
                request = wire.request(
                    _CALL, self.params, patience=endless, on_progress=on_progress
                )
                answer = await call.conversation.carry(request)
                return None if answer is None else writable(answer, self.tool)

        return lot.start(converse, carry)

    async def _round(self, parked: ParkedCall) -> Result:
        """What a parked call comes to while its caller waits."""
        parked.report = self.context.report_progress
        try:
            with self.patience.limit() as limit:
                answer = await parked.turn()
        except anyio.get_cancelled_exc_class():
            parked.cancel()
            raise
        if limit.cancelled_caught:
            parked.cancel()
            raise RequestError(REQUEST_TIMEOUT, "no answer in time")
        if not parked.is_over:
            wanted = InputRequired(parked.requests)
            stated = self._stated(wanted, {"parked": parked.id, "place": HERE})
            return Result.asking(self.tool, stated)
        return self._ended(answer, parked.conversation)
