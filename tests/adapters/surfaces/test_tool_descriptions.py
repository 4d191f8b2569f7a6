"""A contract as `describe_tools` tells it."""

from __future__ import annotations

from toolcrib_adapters.surfaces.published_forms import PublishedForms
from toolcrib_adapters.surfaces.tool_descriptions import described, description_of
from toolcrib_protocol.tool import Contract
from toolcrib_protocol.version import FIRST_VERSION, Version
from toolcrib_registry.records import StatusRecord, ToolRecord, VersionRecord

RICH = Contract.model_validate(
    {
        "group": "mail",
        "name": "send",
        "version": "1.2.0",
        "description": "Sends a letter.",
        "when_to_use": "For short texts.",
        "when_not_to_use": "For files.",
        "preconditions": ["signed in", "address checked"],
        "needs": [{"input": "to", "from": "people/find"}],
        "input_schema": {
            "type": "object",
            "properties": {"to": {"type": "string"}, "cc": {"type": "string"}},
            "anyOf": [{"required": ["to"]}, {"required": ["cc"]}],
        },
        "output_schema": {"type": "object", "properties": {"id": {"type": "string"}}},
        "errors": [{"code": "no_such_box", "message": "nobody lives there"}],
        "examples": [{"request": "write to Ann", "arguments": {"to": "ann"}}],
        "behaviour": {
            "read_only": False,
            "idempotent": True,
            "idempotency_key": {"place": "argument", "name": "key"},
        },
    }
)
PLAIN = Contract(group="mail", name="now")


def tool_of(*contracts: Contract) -> ToolRecord:
    records = [VersionRecord.of(contract, "post-office", contract.name) for contract in contracts]
    return ToolRecord(
        contracts[0].id,
        f"mail__{contracts[0].name}",
        max(record.version for record in records),
        {record.version: record for record in records},
        {record.version: StatusRecord("active") for record in records},
    )


def test_every_part_of_a_contract_is_told_in_both_forms() -> None:
    tool = tool_of(RICH)
    record = tool.versions[Version.parse("1.2.0")]
    facts = description_of(tool, record, PublishedForms().of(record))
    answer = described([facts])
    assert answer["structuredContent"] == {"tools": [facts]}
    assert {
        key: facts[key] for key in ("needs", "preconditions", "errors", "examples", "behaviour")
    } == {
        "needs": [{"input": "to", "from": "people/find"}],
        "preconditions": ["signed in", "address checked"],
        "errors": [{"code": "no_such_box", "message": "nobody lives there"}],
        "examples": [{"request": "write to Ann", "arguments": {"to": "ann"}}],
        "behaviour": {
            "read_only": False,
            "destructive": "unknown",
            "idempotent": True,
            "open_world": "unknown",
            "idempotency_key": {"place": "argument", "name": "key"},
        },
    }
    content = answer["content"]
    assert isinstance(content, list)
    text = str(content[0])
    for words in (
        "mail__send (mail/send@1.2.0, active)",
        "Use when: For short texts.",
        "Do not use when: For files.",
        "Before: signed in; address checked",
        "no_such_box",
        "write to Ann",
        'Result: {"type":"object"',
    ):
        assert words in text


def test_a_rule_that_the_published_schema_cannot_carry_is_told_in_words() -> None:
    tool = tool_of(RICH)
    record = tool.versions[Version.parse("1.2.0")]
    facts = description_of(tool, record, PublishedForms().of(record))
    assert "anyOf" not in str(facts["input_schema"])
    assert str(facts["description"]).startswith("Sends a letter. ")
    assert len(str(facts["description"])) > len("Sends a letter. ")


def test_a_bare_contract_tells_what_is_unknown_and_nothing_else() -> None:
    tool = tool_of(PLAIN)
    record = tool.versions[FIRST_VERSION]
    facts = description_of(tool, record, PublishedForms().of(record))
    assert set(facts) == {
        *("name", "reference", "description", "input_schema", "behaviour"),
        *("versions", "status", "source"),
    }
    answer = described([facts])
    assert "Use when" not in str(answer["content"])


def test_forms_are_made_once_and_the_least_used_one_goes_first() -> None:
    forms = PublishedForms(most=2)
    records = [
        VersionRecord.of(Contract(group="g", name=name), "s", name) for name in ("a", "b", "c")
    ]
    first, second = forms.of(records[0]), forms.of(records[1])
    assert forms.of(records[0]) is first
    forms.of(records[2])
    assert forms.of(records[0]) is first
    assert forms.of(records[1]) is not second
