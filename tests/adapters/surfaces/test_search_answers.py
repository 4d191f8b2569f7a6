"""What a search answer says, and what it costs."""

from __future__ import annotations

import pytest

from toolcrib_adapters.surfaces.group_summary import GroupView
from toolcrib_adapters.surfaces.published_forms import PublishedForms
from toolcrib_adapters.surfaces.search_answers import (
    SCHEMAS_TOKENS,
    ShownAnswer,
    ShownHit,
    ShownQuery,
    rendered,
)
from toolcrib_protocol.budget import estimate_tokens
from toolcrib_protocol.json_value import JsonObject, dump_json
from toolcrib_protocol.tool import Contract
from toolcrib_registry.records import VersionRecord

MAIL_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "subject": {"type": "string"}},
    "required": ["to"],
}
GROUPS = (GroupView("mail", "Letters.", 2),)


def hit(
    name: str = "send",
    description: str = "Sends a letter. More.",
    schema: JsonObject = MAIL_SCHEMA,
    score: float = 0.51234,
) -> ShownHit:
    contract = Contract(group="mail", name=name, description=description, input_schema=schema)
    record = VersionRecord.of(contract, "mail", name)
    return ShownHit(f"mail__{name}", record, PublishedForms().of(record), score, "words: send")


def wordy(number: int) -> ShownHit:
    properties: JsonObject = {
        f"parameter_number_{n}": {"type": "string", "description": "long " * 40} for n in range(40)
    }
    schema: JsonObject = {"type": "object", "properties": properties}
    return hit(f"tool_{number}", "A description that goes on and on, " * 40, schema)


def answer(
    *queries: ShownQuery, detail: str = "signatures", degraded: str | None = None
) -> ShownAnswer:
    return ShownAnswer(queries, GROUPS, 7, detail, degraded)


def text_of(result: JsonObject) -> str:
    content = result["content"]
    assert isinstance(content, list)
    assert len(content) == 1
    block = content[0]
    assert isinstance(block, dict)
    return str(block["text"])


@pytest.mark.promise("surface-search")
def test_a_hit_is_its_name_its_parameters_and_what_it_does() -> None:
    result = rendered(answer(ShownQuery("send a letter", (hit(),))))
    assert text_of(result) == (
        "- mail__send(to: string, subject?: string): Sends a letter.\n"
        "Run one with call_tool; describe_tools shows full schemas."
    )
    assert result["structuredContent"] == {
        "results": [
            {
                "query": "send a letter",
                "hits": [
                    {
                        "name": "mail__send",
                        "reference": "mail/send@1.0.0",
                        "score": 0.512,
                        "why": "words: send",
                        "signature": "mail__send(to: string, subject?: string)",
                        "description": "Sends a letter.",
                    }
                ],
            }
        ],
        "groups": [],
        "revision": 7,
    }


def test_only_names_are_told_where_only_names_are_wanted() -> None:
    result = rendered(answer(ShownQuery("q", (hit(),)), detail="names"))
    assert text_of(result).startswith("- mail__send\n")
    assert '"signature"' not in dump_json(result)
    assert '"description"' not in dump_json(result)


def test_schemas_are_told_in_full_once_a_tool_as_long_as_they_fit() -> None:
    huge: JsonObject = {
        "type": "object",
        "properties": {
            f"p{n}": {"type": "string", "description": "word " * 60} for n in range(200)
        },
    }
    queries = [ShownQuery("a", (hit(), hit("huge", schema=huge))), ShownQuery("b", (hit(),))]
    result = rendered(answer(*queries, detail="schemas"))
    assert text_of(result).count(dump_json(MAIL_SCHEMA)) == 1
    structured = result["structuredContent"]
    assert isinstance(structured, dict)
    results = structured["results"]
    assert isinstance(results, list)
    hits = [one for query in results if isinstance(query, dict) for one in query["hits"]]  # type: ignore[union-attr]
    schemas = [one.get("input_schema") for one in hits if isinstance(one, dict)]
    assert schemas == [MAIL_SCHEMA, None, MAIL_SCHEMA]
    assert estimate_tokens(text_of(result)) < SCHEMAS_TOKENS


def test_each_of_several_queries_gets_its_own_part() -> None:
    result = rendered(answer(ShownQuery("a", (hit(),)), ShownQuery("b", ())))
    lines = text_of(result).splitlines()
    assert lines[0] == "For 'a':"
    assert lines[2] == "For 'b': nothing fits"
    assert "- mail (2): Letters." in lines
    assert '{"query":"b","hits":[],"nothing_fits":true}' in dump_json(result)


@pytest.mark.promise("surface-search")
def test_when_nothing_fits_the_groups_and_what_to_try_are_told() -> None:
    result = rendered(answer(ShownQuery("fly to the moon", ())))
    assert text_of(result).startswith("Nothing fits. Try other words")
    assert "- mail (2): Letters." in text_of(result)
    assert '"groups":[{"name":"mail","description":"Letters.","tools":2}]' in dump_json(result)


def test_a_search_that_is_not_at_its_best_says_so() -> None:
    result = rendered(answer(ShownQuery("q", (hit(),)), degraded="keywords only for now"))
    assert text_of(result).startswith("(keywords only for now)\n")
    assert '"degraded":"keywords only for now"' in dump_json(result)


@pytest.mark.parametrize(("queries", "hits", "most"), [(1, 5, 700), (1, 20, 700), (4, 5, 1_900)])
@pytest.mark.promise("surface-search")
def test_long_winded_tools_do_not_make_long_answers(queries: int, hits: int, most: int) -> None:
    asked = [ShownQuery(f"q{q}", tuple(wordy(n) for n in range(hits))) for q in range(queries)]
    result = rendered(answer(*asked))
    assert estimate_tokens(text_of(result)) <= most
    assert text_of(result).count("mail__tool_") == queries * hits


def test_a_tool_without_parameters_or_description_is_still_a_line() -> None:
    result = rendered(
        answer(ShownQuery("q", (hit("now", "", {"type": "object", "properties": {}}),)))
    )
    assert text_of(result).startswith("- mail__now()\n")
