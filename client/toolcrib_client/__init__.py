"""The thin client of a crib: find tools, call them, offer them to a model, publish new ones."""

from typing import TYPE_CHECKING

from toolcrib_client.calls import Call
from toolcrib_client.failures import (
    AtCapacity,
    BadAnswer,
    InvalidArguments,
    InvalidContract,
    NeedsHuman,
    NeedsInput,
    NeedsSignIn,
    NotCallable,
    NotPermitted,
    OutcomeUnknown,
    SourceDisconnected,
    SourceUnavailable,
    ToolCrashed,
    ToolFailed,
    ToolTimedOut,
    UnknownTool,
)
from toolcrib_client.hits import Hit, PublishReceipt, SearchAnswer, ToolDescription
from toolcrib_client.kept_results import handle_of
from toolcrib_client.timeouts import Timeouts
from toolcrib_protocol.errors import ErrorKind, ToolError
from toolcrib_protocol.function_tool import tool
from toolcrib_protocol.result import Result, Status
from toolcrib_protocol.tool import Contract

if TYPE_CHECKING:
    from toolcrib_client.crib import Crib

__all__ = [
    "AtCapacity",
    "BadAnswer",
    "Call",
    "Contract",
    "Crib",
    "ErrorKind",
    "Hit",
    "InvalidArguments",
    "InvalidContract",
    "NeedsHuman",
    "NeedsInput",
    "NeedsSignIn",
    "NotCallable",
    "NotPermitted",
    "OutcomeUnknown",
    "PublishReceipt",
    "Result",
    "SearchAnswer",
    "SourceDisconnected",
    "SourceUnavailable",
    "Status",
    "Timeouts",
    "ToolCrashed",
    "ToolDescription",
    "ToolError",
    "ToolFailed",
    "ToolTimedOut",
    "UnknownTool",
    "handle_of",
    "tool",
]


def __getattr__(name: str) -> object:
    # Every worker process that runs Python tools imports `tool` from here. Without the MCP library,
    # which only a connection needs, that takes a quarter of the time and half the memory.
    if name == "Crib":
        from toolcrib_client.crib import Crib  # noqa: PLC0415

        return Crib
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
