"""The one reason that a person gets, out of what task groups make of it."""

from __future__ import annotations

from toolcrib_protocol.errors import ToolError


def first_failure(error: Exception) -> ToolError | None:
    """The failure that a task group may have wrapped; None if it is a fault of ours."""
    if isinstance(error, ExceptionGroup):
        inner = map(first_failure, error.exceptions)
        return next((failure for failure in inner if failure is not None), None)
    return error if isinstance(error, ToolError) else None
