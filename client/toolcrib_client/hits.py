"""What a search found. Values only; read from the answer of `search_tools`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from toolcrib_protocol.json_value import Json, JsonObject


@dataclass(frozen=True, slots=True)
class Hit:
    """A tool that fits a query.

    Attributes:
        name: the published name, which is what to call.
        reference: `group/tool@version`.
        score: how well it fits; comparable within one answer only.
        why: what made it fit, in a few words.
        signature: name, parameters and types in a line; empty where only names were asked for.
        description: what it does, shortened.
        input_schema: the model-safe input schema, where schemas were asked for.
    """

    name: str
    reference: str
    score: float = 0.0
    why: str = ""
    signature: str = ""
    description: str = ""
    input_schema: JsonObject | None = None

    def __str__(self) -> str:
        return f"{self.signature or self.name}  {self.description}".rstrip()


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """A group of tools that the caller may use."""

    name: str
    description: str = ""
    tools: int = 0


@dataclass(frozen=True, slots=True)
class QueryHits:
    """The hits of one query, best first.

    Attributes:
        query: as it was asked.
        hits: at most the limit that was asked for.
        nothing_fits: no tool is a good answer; the hits, if any, are far off.
    """

    query: str
    hits: tuple[Hit, ...] = ()
    nothing_fits: bool = False


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The answer to all queries of one search.

    Attributes:
        results: one for each query, in their order.
        groups: what there is, where something was not found.
        revision: the revision of the catalogue that was searched.
        degraded: why the answer may be worse than usual (for example: vectors are still being
            built), or None.
    """

    results: tuple[QueryHits, ...]
    groups: tuple[GroupSummary, ...] = ()
    revision: int = 0
    degraded: str | None = None

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The hits of all queries, each tool once, query by query and best first."""
        by_name = {
            hit.name: hit for result in reversed(self.results) for hit in reversed(result.hits)
        }
        return tuple(reversed(by_name.values()))

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    @classmethod
    def joined(cls, answers: Sequence["SearchAnswer"]) -> "SearchAnswer":
        """The answers to the parts of one search, as one."""
        return cls(
            tuple(result for answer in answers for result in answer.results),
            tuple({group.name: group for answer in answers for group in answer.groups}.values()),
            answers[-1].revision,
            next((answer.degraded for answer in answers if answer.degraded), None),
        )


@dataclass(frozen=True, slots=True)
class ToolDescription:
    """A tool in full.

    Attributes:
        name: the published name.
        reference: `group/tool@version`.
        description: what it does.
        input_schema: the model-safe form; the crib checks against the exact one.
        output_schema: of the structured data, if the tool declares one.
        title: a short name for people.
        when_to_use: for models, beside the description.
        when_not_to_use: what to use instead, and when.
        preconditions: what has to be so before.
        errors: codes of its own (`code`, `message`, `kind`).
        examples: requests with the arguments that serve them.
        behaviour: `read_only`, `destructive`, ...: true, false or `"unknown"`.
        versions: all versions that may be called.
        status: `active` or `deprecated`.
    """

    name: str
    reference: str
    description: str
    input_schema: JsonObject
    output_schema: JsonObject | None = None
    title: str | None = None
    when_to_use: str = ""
    when_not_to_use: str = ""
    preconditions: tuple[str, ...] = ()
    errors: tuple[JsonObject, ...] = ()
    examples: tuple[JsonObject, ...] = ()
    behaviour: dict[str, bool | str] | None = None
    versions: tuple[Json, ...] = ()
    status: str = "active"


@dataclass(frozen=True, slots=True)
class PublishedTool:
    """A tool that was published: `status` is `added`, `changed` or `unchanged`."""

    reference: str
    published_name: str
    status: str


@dataclass(frozen=True, slots=True)
class PublishReceipt:
    """What became of a publication.

    Attributes:
        published: the tools that are in the catalogue now.
        quarantined: entries that could not be used, each with its reason.
        revision: the revision of the catalogue that holds them.
    """

    published: tuple[PublishedTool, ...]
    quarantined: tuple[JsonObject, ...] = ()
    revision: int = 0
