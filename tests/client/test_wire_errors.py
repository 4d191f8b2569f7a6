"""What an error on the wire means for a request that was sent."""

from __future__ import annotations

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR

from toolcrib_client.failures import failure
from toolcrib_client.http_client import GAVE_UP
from toolcrib_client.target import read_target
from toolcrib_client.wire_errors import Sent
from toolcrib_protocol.errors import (
    INTERNAL,
    OUTCOME_UNKNOWN,
    SOURCE_DISCONNECTED,
    UPSTREAM_PROTOCOL,
)


def sent(*, may_repeat: bool) -> Sent:
    target = read_target("http://127.0.0.1:1/mcp")
    return Sent(target, "the call of 'bank__pay'", may_repeat)


@pytest.mark.promise("client-never-repeats-calls")
def test_a_crib_that_gave_up_in_the_middle_leaves_the_outcome_of_a_call_unknown() -> None:
    gave_up = failure(UPSTREAM_PROTOCOL, "HTTP 500", details={GAVE_UP: 500})
    error = MCPError(code=INTERNAL_ERROR, message="", data=gave_up.as_json())
    assert sent(may_repeat=False).failed(error).code == OUTCOME_UNKNOWN
    assert sent(may_repeat=True).failed(error).code == UPSTREAM_PROTOCOL


def test_a_servers_own_error_of_the_sdks_number_is_not_taken_for_a_lost_connection() -> None:
    lost = MCPError(code=CONNECTION_CLOSED, message="Connection closed")
    own = MCPError(code=CONNECTION_CLOSED, message="boom")
    assert sent(may_repeat=True).failed(lost).code == SOURCE_DISCONNECTED
    told = sent(may_repeat=True).failed(own)
    assert told.code == INTERNAL
    assert "boom" in told.message
