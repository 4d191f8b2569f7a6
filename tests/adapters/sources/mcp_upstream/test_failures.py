"""What a failure means, where the wire alone does not tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from mcp_types import CONNECTION_CLOSED, URL_ELICITATION_REQUIRED

from toolcrib_adapters.sources.mcp_upstream.failures import RequestError, call_failure
from toolcrib_protocol.errors import NEEDS_INPUT, SOURCE_DISCONNECTED, TOOL_FAILED, ErrorKind

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject


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


@pytest.mark.promise("field-o26-nobody-to-ask")
def test_a_page_to_visit_first_is_told_to_a_person_with_its_address() -> None:
    pages: JsonObject = {"elicitations": [{"url": "https://example.org", "elicitationId": "e"}]}
    failed = RequestError(URL_ELICITATION_REQUIRED, "Sign in first", data=pages)
    failure = call_failure(failed, "'bank'", 30)
    assert (failure.code, failure.kind) == (NEEDS_INPUT, ErrorKind.NEEDS_HUMAN)
    assert "Sign in first" in failure.message
    assert failure.details["jsonrpc_data"] == pages
