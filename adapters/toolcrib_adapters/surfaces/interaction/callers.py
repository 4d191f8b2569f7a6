"""How the caller of a request can be asked, read from the request.

An older client is asked on the stream of its request, through the SDK's session. A client of
2026-07-28 gets questions as the answer and brings replies with its next request. Nothing here knows
upstreams.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import anyio
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CONNECTION_CLOSED,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolcrib_adapters.surfaces.caller_context import connection_of
from toolcrib_protocol.errors import NEEDS_INPUT, ErrorKind, ToolError
from toolcrib_protocol.result import ERROR_META
from toolcrib_registry.interaction import ABILITIES, TASKS, AnswerError, Interaction

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.interaction import Question

    Context = ServerRequestContext[Any, Any]

_DECLARED: Final = "toolcrib.declared"
"""Where the state of a connection keeps what its client declared when it shook hands."""
_AS_WRITTEN: Final[dict[str, Any]] = {"by_alias": True, "mode": "json", "exclude_none": True}


def interaction_of(ctx: Context) -> Interaction:
    """How the caller of this request can be asked."""
    declared = _declared(ctx)
    abilities = {name: declared[name] for name in ABILITIES.values() if name in declared}
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        params = ctx.params or {}
        responses, state = params.get("inputResponses"), params.get("requestState")
        return Interaction(
            abilities,
            responses=responses if isinstance(responses, dict) else None,
            state=state if isinstance(state, str) else None,
        )
    if not ctx.session.can_send_request:
        return Interaction(why_not="this client's connection carries no questions")
    asking = _Asking(ctx)
    return Interaction(abilities, ask=asking.ask, visited=asking.visited)


def declares_tasks(ctx: Context) -> bool:
    """Whether the caller says that it can be given a task in place of a result."""
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return False
    extensions = _declared(ctx).get("extensions")
    return isinstance(extensions, dict) and TASKS in extensions


def _declared(ctx: Context) -> JsonObject:
    """The client capabilities of the caller, as it wrote them.

    Not from the SDK's model of them: every call would pay for writing it out again.
    """
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        meta = (ctx.params or {}).get("_meta") or {}
        written = meta.get(CLIENT_CAPABILITIES_META_KEY)
        return written if isinstance(written, dict) else {}
    state = connection_of(ctx).state
    known: JsonObject | None = state.get(_DECLARED)
    if known is None:
        declared = ctx.session.client_capabilities
        known = {} if declared is None else declared.model_dump(**_AS_WRITTEN)
        state[_DECLARED] = known
    return known


def refuse_lacking(answer: JsonObject, version: str) -> None:
    """Return unless the source said that the caller lacks an ability for the call.

    Raises:
        MCPError: what the source said; the newer generation has an error of its own for this.
    """
    meta = answer.get("_meta")
    error = meta.get(ERROR_META) if isinstance(meta, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    if not isinstance(details, dict) or version not in MODERN_PROTOCOL_VERSIONS:
        return
    if details.get("jsonrpc_code") == MISSING_REQUIRED_CLIENT_CAPABILITY:
        text = str(details.get("jsonrpc_message"))
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, text, details.get("jsonrpc_data"))


class _Asking:
    """Puts questions to an older client while its request runs."""

    def __init__(self, ctx: Context) -> None:
        # The typed way would drop what the SDK's models do not know, in question and answer.
        self._stream = ctx.session._request_outbound  # noqa: SLF001
        self._session = ctx.session

    async def ask(self, question: Question) -> JsonObject:
        """The client's answer.

        Raises:
            ToolError: `needs_input`: the client cannot be reached.
            AnswerError: it answered with an error.
        """
        try:
            answer: JsonObject = await self._stream.send_raw_request(
                question.method, _older_form(question) or None
            )
        except MCPError as error:
            if isinstance(error, NoBackChannelError) or error.code == CONNECTION_CLOSED:
                text = f"the question {question.words!r} did not reach the client: it has left"
                raise ToolError(NEEDS_INPUT, text, ErrorKind.NEEDS_HUMAN) from error
            raise AnswerError(error.code, error.message, error.data) from error
        return answer

    async def visited(self, elicitation_id: str) -> None:
        """Tell the client that a page has done its work; its call may be over by then."""
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, NoBackChannelError):
            await self._session.send_elicit_complete(elicitation_id)


def _older_form(question: Question) -> JsonObject:
    """The parameters as older clients want them: a page to visit has an id."""
    params = question.params
    if params.get("mode") == "url" and "elicitationId" not in params:
        return {**params, "elicitationId": uuid4().hex}
    return params
