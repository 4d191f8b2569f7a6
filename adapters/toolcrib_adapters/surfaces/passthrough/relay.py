"""Puts a request of a caller to the source that it is for, with what may travel along."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED

from toolcrib_adapters.surfaces.call_answers import forwarded_meta
from toolcrib_adapters.surfaces.caller_context import log_of, progress_of, session_of
from toolcrib_adapters.surfaces.interaction.callers import interaction_of
from toolcrib_adapters.surfaces.interaction.leaving import leaving_of
from toolcrib_adapters.surfaces.passthrough.refusals import refusal
from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.interim import INPUT_REQUIRED
from toolcrib_registry.permissions import LOCAL_CALLER
from toolcrib_registry.ports import CallContext

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import RequestParams

    from toolcrib_adapters.surfaces.passthrough.offerings import Offerings
    from toolcrib_protocol.json_value import JsonObject

_SECONDS: Final = 60.0
_OWN: Final = ("_meta", "inputResponses", "requestState")
"""What of the parameters belongs to this hop."""


def wanted_of(params: RequestParams) -> JsonObject:
    """The parameters of a request, as they may go to a source."""
    written = params.model_dump(by_alias=True, mode="json", exclude_none=True)
    return {key: value for key, value in written.items() if key not in _OWN}


def is_question(answer: JsonObject) -> bool:
    """Whether a source wants to know something before it answers."""
    return answer.get("resultType") == INPUT_REQUIRED


async def relayed(
    offerings: Offerings,
    ctx: ServerRequestContext[Any, Any],
    source: str,
    method: str,
    params: JsonObject,
) -> JsonObject:
    """The raw answer of a source.

    Raises:
        MCPError: it refuses, or cannot be asked.
    """
    headers = ctx.request.headers if ctx.request is not None else {}
    context = CallContext(
        _SECONDS,
        LOCAL_CALLER,
        progress_of(ctx),
        forwarded_meta(ctx.meta or {}),
        headers,
        interaction=interaction_of(ctx),
        log=log_of(ctx),
        session=session_of(ctx),
    )
    with leaving_of(ctx.request).scope():
        try:
            return await offerings.provider(source).request(method, params, context)
        except ToolError as error:
            raise refusal(error, ctx.protocol_version) from error
    raise MCPError(CONNECTION_CLOSED, "the client has left")
