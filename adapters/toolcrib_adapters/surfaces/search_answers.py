"""What `search_tools` answers: few words a hit, inside a token budget, the same in both forms.

Clients show a model either the text or the structured content, so each has to be complete and each
has to be short. Descriptions give way first, then signatures. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolcrib_adapters.surfaces.group_summary import one_line, summary
from toolcrib_adapters.surfaces.meta_tools import CALL_TOOL, DESCRIBE_TOOLS
from toolcrib_protocol.budget import estimate_tokens
from toolcrib_protocol.content import text_block
from toolcrib_protocol.json_value import dump_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolcrib_adapters.surfaces.group_summary import GroupView
    from toolcrib_adapters.surfaces.published_forms import PublishedForm
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.records import VersionRecord

FIRST_QUERY_TOKENS: Final = 700
"""How much the text of an answer to one query may cost (estimated, which errs on the high side)."""
NEXT_QUERY_TOKENS: Final = 400
"""How much each further query may add."""
SCHEMAS_TOKENS: Final = 6_000
"""How much all schemas of an answer may cost; what does not fit is described on demand."""
# How long parameters and descriptions are, from generous to none.
_SIZES: Final = ((300, 160), (200, 100), (120, 60), (60, 0), (0, 0))
_MOST_GROUPS: Final = 40
_GROUP_LENGTH: Final = 60
_NOTHING: Final = (
    "Nothing fits. Try other words for the task, or one of these groups with `group`; if none of "
    "them is about it, no tool here does it:"
)


@dataclass(frozen=True, slots=True)
class ShownHit:
    """A hit with everything that may be shown of it."""

    name: str
    record: VersionRecord
    form: PublishedForm
    score: float
    why: str


@dataclass(frozen=True, slots=True)
class ShownQuery:
    """A query and its hits, best first; none means that nothing fits."""

    query: str
    hits: tuple[ShownHit, ...]


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """Everything an answer tells.

    Attributes:
        queries: in the order asked.
        groups: the groups that are told if nothing fits.
        revision: of the catalogue that was searched.
        detail: `names`, `signatures` or `schemas`.
        degraded: what is missing from the search at the moment, or None.
        why_empty: why there is no tool at all; empty if there is one.
    """

    queries: tuple[ShownQuery, ...]
    groups: tuple[GroupView, ...]
    revision: int
    detail: str
    degraded: str | None = None
    why_empty: str = ""

    @property
    def token_budget(self) -> int:
        """How much the text may cost."""
        return FIRST_QUERY_TOKENS + NEXT_QUERY_TOKENS * (len(self.queries) - 1)

    @property
    def has_empty(self) -> bool:
        """Whether nothing fits one of the queries."""
        return any(not query.hits for query in self.queries)


def rendered(answer: ShownAnswer) -> JsonObject:
    """The MCP answer."""
    if answer.detail == "schemas":
        return _with_schemas(answer)
    sizes = _SIZES if answer.detail == "signatures" else _SIZES[-1:]
    for parameters, description in sizes:
        text = _text(answer, parameters, description)
        if estimate_tokens(text) <= answer.token_budget:
            break
    return _both(answer, text, [_entry(hit, parameters, description) for hit in _hits(answer)])


def _with_schemas(answer: ShownAnswer) -> JsonObject:
    """Schemas in the order of the ranking, query by query, as long as they fit."""
    parameters, description = _SIZES[0]
    entries, schemas, left = [], {}, SCHEMAS_TOKENS
    for hit in _hits(answer):
        entry = _entry(hit, parameters, description)
        written = dump_json(hit.form.input_schema)
        cost = estimate_tokens(written)
        if hit.name in schemas or cost <= left:
            left -= 0 if hit.name in schemas else cost
            schemas[hit.name] = written
            entry["input_schema"] = hit.form.input_schema
        entries.append(entry)
    text = _text(answer, parameters, description)
    told = [f"{name} arguments: {schema}" for name, schema in schemas.items()]
    return _both(answer, "\n".join([text, *told]), entries)


def _hits(answer: ShownAnswer) -> Iterator[ShownHit]:
    return (hit for query in answer.queries for hit in query.hits)


def _both(answer: ShownAnswer, text: str, entries: Sequence[JsonObject]) -> JsonObject:
    remaining = iter(entries)
    results: list[Json] = []
    for query in answer.queries:
        result: JsonObject = {"query": query.query, "hits": [next(remaining) for _ in query.hits]}
        results.append(result if query.hits else {**result, "nothing_fits": True})
    largest = sorted(answer.groups, key=lambda group: (-group.tools, group.name))[:_MOST_GROUPS]
    groups: list[Json] = [_group(group) for group in largest] if answer.has_empty else []
    structured: JsonObject = {"results": results, "groups": groups, "revision": answer.revision}
    if answer.degraded:
        structured["degraded"] = answer.degraded
    return {"content": [text_block(text)], "structuredContent": structured}


def _group(group: GroupView) -> JsonObject:
    return {**group.as_json(), "description": one_line(group.description, _GROUP_LENGTH)}


def _entry(hit: ShownHit, parameters: int, description: int) -> JsonObject:
    entry: JsonObject = {
        "name": hit.name,
        "reference": f"{hit.record.tool}@{hit.record.version}",
        "score": round(hit.score, 3),
        "why": hit.why,
    }
    if parameters:
        entry["signature"] = hit.name + _cut(hit.form.parameters, parameters)
    if description and hit.form.description:
        entry["description"] = one_line(hit.form.description, description)
    return entry


def _text(answer: ShownAnswer, parameters: int, description: int) -> str:
    lines = [f"({answer.degraded})"] if answer.degraded else []
    for query in answer.queries:
        if len(answer.queries) > 1:
            lines.append(
                f"For {query.query!r}:" if query.hits else f"For {query.query!r}: nothing fits"
            )
        lines += [_line(hit, parameters, description) for hit in query.hits]
    if answer.why_empty:
        lines.append(answer.why_empty)
    elif answer.has_empty:
        lines += [_NOTHING, summary(answer.groups)]
    else:
        lines.append(f"Run one with {CALL_TOOL}; {DESCRIBE_TOOLS} shows full schemas.")
    return "\n".join(lines)


def _line(hit: ShownHit, parameters: int, description: int) -> str:
    told = (
        f": {one_line(hit.form.description, description)}"
        if description and hit.form.description
        else ""
    )
    return f"- {hit.name}{_cut(hit.form.parameters, parameters)}{told}"


def _cut(parameters: str, longest: int) -> str:
    if not longest or len(parameters) <= longest:
        return parameters if longest else ""
    return f"{parameters[:longest].rpartition(', ')[0] or parameters[:longest]}, …)"
