"""A contract is a frozen value with an identity, a version and a fingerprint."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from toolcrib_protocol.errors import ErrorKind
from toolcrib_protocol.names import Reference, ToolId
from toolcrib_protocol.status import CALLABLE
from toolcrib_protocol.tool import (
    Behaviour,
    Contract,
    DeclaredError,
    Example,
    IdempotencyKey,
    KeyPlace,
    Limits,
    Need,
)
from toolcrib_protocol.version import FIRST_VERSION, Version

FULL = {
    "group": "mail",
    "name": "send",
    "version": "2.1.0",
    "title": "Send mail",
    "description": "Sends one mail.",
    "when_to_use": "to write to somebody",
    "when_not_to_use": "for newsletters",
    "preconditions": ["the account is connected"],
    "needs": [{"input": "account", "from": "mail/accounts"}],
    "input_schema": {"type": "object", "properties": {"to": {"type": "string"}}},
    "output_schema": {"type": "object", "properties": {"id": {"type": "integer"}}},
    "errors": [{"code": "no_account", "message": "none is connected", "kind": "needs_human"}],
    "examples": [{"request": "write to Ann", "arguments": {"to": "ann"}, "result": {"id": 1}}],
    "behaviour": {
        "read_only": False,
        "idempotent": True,
        "idempotency_key": {"place": "argument", "name": "key"},
    },
    "limits": {"timeout_seconds": 5.0, "max_concurrency": 2},
    "degraded": {"description": "queued", "result": {"id": 0}},
    "batch": {"tool": "send_many", "items_argument": "mails", "max_items": 50},
    "tags": ["mail"],
    "deprecation": {"since": "2027-01-31", "replaced_by": "mail/post", "note": "moved"},
    "icons": [{"src": "data:,", "sizes": ["16x16"]}],
    "meta": {"vendor/x": 9007199254740993},
}


@pytest.mark.promise("contract-complete")
def test_a_contract_is_read_back_from_its_json_as_it_was() -> None:
    contract = Contract.model_validate(FULL)
    again = Contract.model_validate(contract.as_json())
    assert again == contract
    assert again.as_json() == contract.as_json() == FULL


def test_the_json_of_a_contract_leaves_out_what_nobody_declared() -> None:
    assert Contract(group="mail", name="send").as_json() == {"group": "mail", "name": "send"}


def test_a_declared_first_version_is_not_the_same_as_none() -> None:
    silent = Contract(group="mail", name="send")
    declared = Contract(group="mail", name="send", version=FIRST_VERSION)
    assert silent.version == declared.version
    assert (silent.declares_version, declared.declares_version) == (False, True)
    assert declared.as_json()["version"] == "1.0.0"
    assert Contract.model_validate(declared.as_json()).declares_version


def test_a_contract_knows_its_identity_and_reference() -> None:
    contract = Contract.model_validate(FULL)
    assert contract.id == ToolId("mail", "send")
    assert contract.reference == Reference(ToolId("mail", "send"))
    assert contract.version == Version(2, 1, 0)


@pytest.mark.promise("contract-fingerprint")
def test_the_fingerprint_tells_contracts_apart_whatever_their_version() -> None:
    contract = Contract.model_validate(FULL)
    later = Contract.model_validate({**FULL, "version": "3.0.0"})
    other = Contract.model_validate({**FULL, "description": "Sends it."})
    reordered = Contract.model_validate(dict(reversed(FULL.items())))
    assert contract.fingerprint() == later.fingerprint() == reordered.fingerprint()
    assert contract.fingerprint() != other.fingerprint()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"group": "my mail"}, "not a group name"),
        ({"version": "2.1"}, "MAJOR.MINOR.PATCH"),
        ({"version": 2}, "version"),
        ({"name": ""}, "name"),
        ({"input_schema": [1]}, "must be an object, not list"),
        ({"when_to_usee": "typing error"}, "Extra inputs are not permitted"),
        ({"errors": [{"code": "x", "kind": "maybe"}]}, "kind"),
        ({"limits": {"timeout_seconds": 0}}, "greater than 0"),
        ({"needs": [{"input": "a"}]}, "from"),
        ({"description": "x" * 100_001}, "100000"),
    ],
)
def test_a_contract_with_a_fault_is_refused_at_the_fault(
    change: dict[str, object], words: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        Contract.model_validate({**FULL, **change})
    assert words in str(caught.value)


def test_a_contract_cannot_be_changed() -> None:
    contract = Contract.model_validate(FULL)
    with pytest.raises(ValidationError):
        contract.name = "other"  # type: ignore[misc]


@pytest.mark.promise("contract-unknown-is-not-safe")
def test_what_is_not_declared_is_unknown_and_never_safe() -> None:
    behaviour = Contract(group="mail", name="send").behaviour
    assert behaviour == Behaviour()
    assert (behaviour.read_only, behaviour.destructive, behaviour.idempotent) == (None, None, None)
    assert not behaviour.may_repeat


@pytest.mark.parametrize(
    ("behaviour", "may_repeat"),
    [
        (Behaviour(read_only=True), True),
        (Behaviour(idempotent=True), True),
        (Behaviour(read_only=False), False),
        (Behaviour(read_only=False, idempotent=False), False),
    ],
)
def test_only_reading_and_idempotent_tools_may_be_repeated(
    behaviour: Behaviour, may_repeat: bool
) -> None:
    assert behaviour.may_repeat is may_repeat


def test_parts_can_be_built_in_python() -> None:
    contract = Contract(
        group="mail",
        name="send",
        needs=(Need(input="account", from_="mail/accounts"),),
        errors=(DeclaredError(code="x"),),
        examples=(Example(request="hi"),),
        limits=Limits(calls_per_second=2),
        behaviour=Behaviour(idempotency_key=IdempotencyKey(place=KeyPlace.META, name="k")),
    )
    assert contract.as_json()["needs"] == [{"input": "account", "from": "mail/accounts"}]
    assert contract.errors[0].kind is ErrorKind.FATAL


def test_only_active_and_deprecated_versions_may_be_called() -> None:
    assert set(CALLABLE) == {"active", "deprecated"}
