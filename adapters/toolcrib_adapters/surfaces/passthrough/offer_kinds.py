"""The three lists that a source may offer besides its tools, and which entries of them are sound.

Pure. An entry that a strict client would refuse would take its whole list down with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mcp_types import methods
from pydantic import ValidationError

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject

_GENERATIONS: Final = ("2025-11-25", "2026-07-28")
_LONGEST_REASON: Final = 200


@dataclass(frozen=True, slots=True)
class OfferKind:
    """One kind of list.

    Attributes:
        method: what lists it.
        key: where the answer keeps the entries.
        part: the server capability that it belongs to.
        identity: the key by which an entry is asked for.
    """

    method: str
    key: str
    part: str
    identity: str

    def fault_of(self, entry: Json) -> str | None:
        """Why an entry cannot be shown; None if it can."""
        for version in _GENERATIONS:
            whole = {
                self.key: [entry],
                "resultType": "complete",
                "ttlMs": 0,
                "cacheScope": "private",
            }
            try:
                methods.serialize_server_result(self.method, version, whole)
            except ValidationError as error:
                first = error.errors(include_url=False, include_input=False)[0]
                where = "/".join(str(part) for part in first["loc"])
                return f"{where}: {first['msg']}"[:_LONGEST_REASON]
        return None

    def name_of(self, entry: JsonObject) -> str:
        """What an entry is asked for by."""
        return str(entry.get(self.identity))


RESOURCES: Final = OfferKind("resources/list", "resources", "resources", "uri")
TEMPLATES: Final = OfferKind(
    "resources/templates/list", "resourceTemplates", "resources", "uriTemplate"
)
PROMPTS: Final = OfferKind("prompts/list", "prompts", "prompts", "name")
KINDS: Final = (RESOURCES, TEMPLATES, PROMPTS)
