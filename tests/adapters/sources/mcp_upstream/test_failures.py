"""What a failure means, where the wire alone does not tell."""

from __future__ import annotations

import pytest
from mcp_types import CONNECTION_CLOSED

from toolcrib_adapters.sources.mcp_upstream.failures import RequestError, call_failure
from toolcrib_protocol.errors import SOURCE_DISCONNECTED, TOOL_FAILED


@pytest.mark.parametrize(
    ("message", "code"),
    [("Connection closed", SOURCE_DISCONNECTED), ("boom: no such account", TOOL_FAILED)],
)
def test_a_servers_own_error_of_the_sdks_number_is_not_taken_for_a_lost_connection(
    message: str, code: str
) -> None:
    failure = call_failure(RequestError(CONNECTION_CLOSED, message), "'bank'", 30)
    assert failure.code == code
    assert code == SOURCE_DISCONNECTED or message in failure.message
