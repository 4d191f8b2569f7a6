"""References inside one schema document, and what they point at.

Only the document itself is ever looked at: a reference to anywhere else has no target, and neither
has one below an `$id` of its own (an embedded document), which no known tool uses. Used by
everything that walks a schema.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from toolcrib_protocol.json_pointer import steps
from toolcrib_protocol.schema.places import nodes

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject

REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHORS: Final = ("$anchor", "$dynamicAnchor")
_LONGEST_INDEX: Final = 9


def references_of(node: JsonObject) -> list[str]:
    """The references that `node` makes: one, if any, in all but hostile schemas."""
    made = (node.get(keyword) for keyword in REFERENCES)
    return [reference for reference in made if isinstance(reference, str)]


class Document:
    """A schema document and the targets of references inside it."""

    __slots__ = ("_anchors", "_own_uri", "root")

    def __init__(self, root: JsonObject) -> None:
        self.root = root
        self._own_uri = _own_uri(root)
        self._anchors: dict[str, JsonObject] | None = None

    def target(self, reference: str) -> JsonObject | bool | None:
        """The schema that `reference` points at, or None if that is nothing or lies outside."""
        if self._own_uri:
            reference = reference.removeprefix(self._own_uri)
        if reference in {"", "#"}:
            return self.root
        if not reference.startswith("#"):
            return None
        name = unquote(reference[1:])
        found = self._at(name) if name.startswith("/") else self._anchored(name)
        return found if isinstance(found, dict | bool) else None

    def _at(self, pointer: str) -> Json:
        here: Json = self.root
        for name in steps(pointer):
            if isinstance(here, dict) and name in here:
                here = here[name]
            elif isinstance(here, list) and _is_index(name) and int(name) < len(here):
                here = here[int(name)]
            else:
                return None
        return here

    def _anchored(self, name: str) -> JsonObject | None:
        if self._anchors is None:
            self._anchors = {}
            for node in nodes(self.root):
                for anchor in _anchors(node):
                    self._anchors.setdefault(anchor, node)
        return self._anchors.get(name)


def hidden_targets(document: Document) -> list[JsonObject]:
    """Targets of references at places where no keyword holds a schema (`#/components/Page`).

    No meta-schema looks at those by itself.
    """
    hidden: list[JsonObject] = []
    seen = {id(node) for node in nodes(document.root)}
    waiting = [document.root]
    while waiting:
        made = (reference for node in nodes(waiting.pop()) for reference in references_of(node))
        for target in map(document.target, dict.fromkeys(made)):
            if isinstance(target, dict) and id(target) not in seen:
                seen.update(id(node) for node in nodes(target))
                hidden.append(target)
                waiting.append(target)
    return hidden


def embedded_document(root: JsonObject) -> str | None:
    """The `$id` of a document inside the document, if there is one."""
    for node in nodes(root):
        own = node.get("$id")
        if node is not root and isinstance(own, str) and not own.startswith("#"):
            return own
    return None


def _own_uri(root: JsonObject) -> str:
    for keyword in ("$id", "id"):
        own = root.get(keyword)
        if isinstance(own, str):
            return own.rstrip("#")
    return ""


def _anchors(node: JsonObject) -> list[str]:
    named = [node.get(keyword) for keyword in _ANCHORS]
    # Drafts 6 and 7 wrote an anchor as `$id: "#name"`, draft 4 as `id: "#name"`.
    ids = [node.get(keyword) for keyword in ("$id", "id")]
    return [
        *(name for name in named if isinstance(name, str)),
        *(own[1:] for own in ids if isinstance(own, str) and own.startswith("#")),
    ]


def _is_index(token: str) -> bool:
    return token.isascii() and token.isdigit() and len(token) <= _LONGEST_INDEX
