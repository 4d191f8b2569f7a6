"""Reads a contract, and what is under its overlay, from the text that a version record keeps.

Apart from `records`, which loads this when the first contract is looked at: a question from the
shell reads thousands of records and no contract, and would wait for pydantic.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError

from toolcrib_protocol.tool import Contract

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject


@dataclass(frozen=True, slots=True)
class Underlay:
    """What is under the overlay of a version.

    Attributes:
        offered: the contract as the source offered it.
        fingerprint: of that contract.
        presets: arguments that every call is sent with.
        reserved: names of arguments that callers may not give.
        left_out: what of the overlay does not fit, in sentences.
    """

    offered: Contract
    fingerprint: str
    presets: JsonObject
    reserved: tuple[str, ...]
    left_out: tuple[str, ...]


def read_contract(written: str) -> Contract:
    """The contract that `written` tells, as JSON."""
    try:
        return Contract.model_validate_json(written)
    except ValidationError:
        # Lone surrogates are legal JSON, but not to the fast parser.
        return Contract.model_validate(json.loads(written))


def read_underlay(under: str) -> Underlay:
    """What `under` tells, as JSON."""
    facts = json.loads(under)
    return Underlay(
        Contract.model_validate(facts["offered"]),
        facts["fingerprint"],
        facts["presets"],
        tuple(facts["reserved"]),
        tuple(facts["left_out"]),
    )
