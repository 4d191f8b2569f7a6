"""Tools as `tools/list` shows them natively, valid in the words of each protocol revision.

Where many sources share an endpoint, models see the model-safe form under the published name. The
endpoint of one group shows what its sources sent, under their names, as far as the wire can carry
it. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolcrib_protocol.budget import estimate_tokens
from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.result import META_PREFIX
from toolcrib_protocol.schema.wrapping import is_never_object, wrapped_schema

if TYPE_CHECKING:
    from toolcrib_adapters.surfaces.published_forms import PublishedForms
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.tool import Contract
    from toolcrib_registry.records import VersionRecord

_MIRRORED: Final = "x-mcp-header"
# What clients read in a tool's `_meta`: where its user interface is, and how to treat it.
_META_KEYS: Final = frozenset({"ui", "deprecated", "replacement"})
_META_FAMILIES: Final = ("ui/", "anthropic/", "openai/")
# Facts of one hop: whoever answers it says them, nobody else.
_HOP_FAMILIES: Final = ("io.modelcontextprotocol/", META_PREFIX)


@dataclass(frozen=True, slots=True)
class NativeTool:
    """A tool in a list: the name it has there, and the version that is shown.

    Attributes:
        name: what callers call it.
        record: the version.
        is_exact: whether it is shown as its source sent it, not in the model-safe form.
    """

    name: str
    record: VersionRecord
    is_exact: bool = False

    @property
    def has_mirrored_parameters(self) -> bool:
        """Whether clients have to repeat arguments in HTTP headers."""
        return _MIRRORED in self.record.written

    def definition(self, forms: PublishedForms, version: str) -> JsonObject:
        """The entry of `tools/list` for a caller that speaks protocol revision `version`."""
        contract = self.record.contract
        is_older = version not in MODERN_PROTOCOL_VERSIONS
        facts: JsonObject = {
            "name": self.name,
            "title": contract.title,
            "description": self._description(forms) or None,
            "inputSchema": self._input_schema(forms, is_older=is_older),
            "outputSchema": _output_schema(contract.output_schema, is_older=is_older),
            "annotations": annotations_of(contract) or None,
            "icons": [icon.model_dump(mode="json") for icon in contract.icons] or None,
            "_meta": self._meta(contract) or None,
        }
        return {key: fact for key, fact in facts.items() if fact is not None}

    def _description(self, forms: PublishedForms) -> str:
        contract = self.record.contract
        told = [contract.description if self.is_exact else forms.of(self.record).description]
        if contract.when_to_use:
            told.append(f"Use it when: {contract.when_to_use}")
        if contract.when_not_to_use:
            told.append(f"Do not use it when: {contract.when_not_to_use}")
        return "\n".join(part for part in told if part)

    def _input_schema(self, forms: PublishedForms, *, is_older: bool) -> JsonObject:
        exact = self.record.contract.input_schema
        is_carried = self.is_exact and (not is_older or _fits_older_wires(exact))
        return exact if is_carried else forms.of(self.record).input_schema

    def _meta(self, contract: Contract) -> JsonObject:
        if self.is_exact:
            return {k: v for k, v in contract.meta.items() if not k.startswith(_HOP_FAMILIES)}
        allowed = {k: v for k, v in contract.meta.items() if _is_for_clients(k)}
        return {**allowed, f"{META_PREFIX}tool": f"{contract.id}@{self.record.version}"}


def definition_tokens(record: VersionRecord) -> int:
    """About how many tokens a model is given for a version that is listed natively.

    Of the contract as it is: making the model-safe form of every tool would cost more than it
    tells.
    """
    contract = record.contract
    text = " ".join((contract.name, contract.description, contract.when_to_use))
    return estimate_tokens(text) + estimate_tokens(dump_json(contract.input_schema))


def annotations_of(contract: Contract) -> JsonObject:
    """What is declared of the behaviour, in the words of MCP."""
    behaviour = contract.behaviour
    hints: dict[str, bool | None] = {
        "readOnlyHint": behaviour.read_only,
        "destructiveHint": behaviour.destructive,
        "idempotentHint": behaviour.idempotent,
        "openWorldHint": behaviour.open_world,
    }
    return {hint: declared for hint, declared in hints.items() if declared is not None}


def _is_for_clients(key: str) -> bool:
    return key in _META_KEYS or key.startswith(_META_FAMILIES)


def _output_schema(schema: JsonObject | None, *, is_older: bool) -> JsonObject | None:
    if schema is None or not is_older or _fits_older_wires(schema):
        return schema
    # Older revisions know objects only: what can never be one is wrapped, in lists and in results.
    return wrapped_schema(schema) if is_never_object(schema) else None


def _fits_older_wires(schema: JsonObject) -> bool:
    """Whether the models of the revisions before 2026-07-28 take the schema."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    return (
        schema.get("type") == "object"
        and isinstance(properties, dict)
        and all(isinstance(part, dict) for part in properties.values())
        and _is_text_list(required)
    )


def _is_text_list(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(part, str) for part in value)
