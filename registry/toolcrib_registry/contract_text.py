"""Reads a contract back from the text that a version record keeps.

Apart from `records`, which loads this when the first contract is looked at: a question from the
shell reads thousands of records and no contract, and would wait for pydantic.
"""

from __future__ import annotations

import json

from pydantic import ValidationError

from toolcrib_protocol.tool import Contract


def read_contract(written: str) -> Contract:
    """The contract that `written` tells, as JSON."""
    try:
        return Contract.model_validate_json(written)
    except ValidationError:
        # Lone surrogates are legal JSON, but not to the fast parser.
        return Contract.model_validate(json.loads(written))
