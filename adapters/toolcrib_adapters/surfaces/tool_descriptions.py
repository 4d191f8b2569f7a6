"""What `describe_tools` answers: everything a caller may rely on about a tool.

The same facts twice, because clients differ in which they show a model: as structured content, and
as text with the schema written as JSON. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.content import text_block
from toolcrib_protocol.json_value import dump_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib_adapters.surfaces.published_forms import PublishedForm
    from toolcrib_protocol.errors import ToolError
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.tool import Behaviour
    from toolcrib_registry.equivalents import Equivalent
    from toolcrib_registry.records import ToolRecord, VersionRecord

_IN_WORDS: Final = (
    ("when_to_use", "Use when"),
    ("when_not_to_use", "Do not use when"),
    ("preconditions", "Before"),
    ("needs", "Needs"),
    ("behaviour", "Behaviour"),
    ("errors", "Errors"),
    ("examples", "Examples"),
    ("input_schema", "Arguments"),
    ("output_schema", "Result"),
    ("equivalents", "May be answered by"),
    ("repairs", "Repaired"),
)


def description_of(
    tool: ToolRecord,
    record: VersionRecord,
    form: PublishedForm,
    equivalents: Sequence[Equivalent] = (),
) -> JsonObject:
    """The facts about one version of a tool; what its contract does not tell is left out.

    Args:
        tool: the tool.
        record: its version.
        form: how it is published.
        equivalents: what may answer in its place, as far as the caller may see it.
    """
    contract = record.contract
    told = contract.as_json()
    status = tool.statuses[record.version].status
    facts: JsonObject = {
        "name": tool.published_name,
        "reference": f"{contract.id}@{record.version}",
        "title": contract.title,
        "description": form.description,
        **{
            key: told.get(key)
            for key in ("when_to_use", "when_not_to_use", "preconditions", "needs")
        },
        "input_schema": form.input_schema,
        "output_schema": contract.output_schema,
        **{key: told.get(key) for key in ("errors", "examples", "deprecation")},
        "behaviour": _behaviour(contract.behaviour),
        "versions": [
            str(version) for version in sorted(tool.versions) if tool.is_callable(version)
        ],
        "status": status,
        "source": record.source,
        "equivalents": [
            {"tool": str(one.record.tool), "grounds": one.grounds.value} for one in equivalents
        ]
        or None,
        "repairs": [*record.repairs] or None,
    }
    return {key: fact for key, fact in facts.items() if fact is not None}


def not_described(name: str, error: ToolError) -> JsonObject:
    """The entry of a name that could not be described."""
    return {"name": name, "error": error.as_json()}


def described(entries: Sequence[JsonObject]) -> JsonObject:
    """The answer of `describe_tools`; an error only if nothing could be described."""
    answer: JsonObject = {
        "content": [text_block("\n\n".join(map(_as_text, entries)))],
        "structuredContent": {"tools": [*entries]},
    }
    return {**answer, "isError": True} if all("error" in entry for entry in entries) else answer


def _behaviour(behaviour: Behaviour) -> JsonObject:
    """Each fact, with "unknown" in words: nothing that is not declared may look safe."""
    declared: dict[str, bool | None] = {
        "read_only": behaviour.read_only,
        "destructive": behaviour.destructive,
        "idempotent": behaviour.idempotent,
        "open_world": behaviour.open_world,
    }
    facts: JsonObject = {k: "unknown" if v is None else v for k, v in declared.items()}
    if behaviour.idempotency_key is not None:
        facts["idempotency_key"] = behaviour.idempotency_key.model_dump(mode="json")
    return facts


def _as_text(entry: JsonObject) -> str:
    error = entry.get("error")
    if isinstance(error, dict):
        return f"{entry['name']}: {error['message']}"
    lines = [f"{entry['name']} ({entry['reference']}, {entry['status']})"]
    if entry["description"]:
        lines.append(str(entry["description"]))
    lines += [f"{words}: {_in_words(entry[key])}" for key, words in _IN_WORDS if key in entry]
    return "\n".join(lines)


def _in_words(fact: Json) -> str:
    if isinstance(fact, str):
        return fact
    if isinstance(fact, list) and all(isinstance(part, str) for part in fact):
        return "; ".join(map(str, fact))
    return dump_json(fact)
