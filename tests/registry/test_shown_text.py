"""Addresses are shown without the secrets in them."""

from __future__ import annotations

import pytest

from toolcrib_registry.shown_text import shown, without_secrets


@pytest.mark.promise("shown-addresses")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("http://user:pa55@host/mcp?token=qq77", "http://***@host/mcp?token=***"),
        ("https://host:8443/mcp", "https://host:8443/mcp"),
        ("https://a@b:c@host/x?y", "https://***@host/x?y"),
        (
            "https://${USER}:${PASS:-x}@h/?k=${KEY}&z=1",
            "https://${USER}:${PASS:-x}@h/?k=${KEY}&z=***",
        ),
        ("${BASE}/mcp?key=1#t=2", "${BASE}/mcp?key=***#t=***"),
        ("npx pg postgresql://me:pw@db/x a@b ?c=d", "npx pg postgresql://***@db/x a@b ?c=d"),
        ("run --at=http://u:p@h/?k=v 'http://u@h'", "run --at=http://***@h/?k=*** 'http://***@h'"),
        ("mail?x=y", "mail?x=y"),
    ],
)
def test_user_password_and_query_values_are_masked_and_variables_stay(text: str, told: str) -> None:
    assert without_secrets(text) == told


def test_what_is_written_in_lists_and_tables_is_masked_as_well() -> None:
    assert shown({"a": ["ftp://u:p@h", 3], "b": None}) == {"a": ["ftp://***@h", 3], "b": None}
