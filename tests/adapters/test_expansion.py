"""Variables in the settings of sources, and how their values stay out of texts."""

from __future__ import annotations

import pytest

from toolcrib_adapters.expansion import Expansion, Secrets
from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError

ENVIRONMENT = {"SET": "s3cret", "EMPTY": "", "ODD": "${SET}"}


def filled(text: str) -> str:
    return Expansion(ENVIRONMENT).text(text)


@pytest.mark.promise("field-secrets-by-reference")
@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("${SET}", "s3cret"),
        ("${UNSET:-d}", "d"),
        ("${UNSET:-}", ""),
        ("${SET:-d}", "s3cret"),
        ("${EMPTY:-d}", ""),
        ("$${LIT}", "${LIT}"),
        ("pre-${SET}-${SET}", "pre-s3cret-s3cret"),
        ("Bearer ${SET}", "Bearer s3cret"),
        ("pa$$word costs $5", "pa$$word costs $5"),
        ("${ODD}", "${SET}"),
    ],
)
def test_a_place_becomes_its_variable_its_default_or_itself(written: str, meant: str) -> None:
    assert filled(written) == meant


def test_a_variable_that_is_not_set_is_refused_by_name() -> None:
    with pytest.raises(ToolError, match="UNSET is not set") as told:
        filled("the-rest-of-it ${UNSET}")
    assert told.value.code == INVALID_SETTINGS
    assert "the-rest-of-it" not in told.value.message


@pytest.mark.parametrize("odd", ["${", "${1}", "${SET", "${input:key}", "${SET:=d}", "${A:-${B}}"])
def test_a_place_that_nobody_can_fill_is_refused(odd: str) -> None:
    with pytest.raises(ToolError, match=r"neither \$\{NAME\} nor"):
        filled(odd)


def test_what_was_filled_in_is_remembered_and_what_was_written_is_not() -> None:
    expansion = Expansion(ENVIRONMENT)
    expansion.text("${SET} ${UNSET:-default} $${LIT}")
    assert expansion.values == {"s3cret"}


def test_secrets_are_hidden_also_as_urls_and_python_write_them() -> None:
    hidden = Secrets(["a key/with\\signs", "a key", "on"]).hidden
    assert hidden("?k=a%20key%2Fwith%5Csigns") == "?k=***"
    assert hidden(repr("a key/with\\signs")) == "'***'"
    assert hidden("a key and on") == "*** and on"
