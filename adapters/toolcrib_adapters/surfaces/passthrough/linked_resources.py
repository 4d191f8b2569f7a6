"""Links to resources inside answers, so that a caller can read what it is shown. Pure.

Blocks of tools and prompts link to resources or carry them; a tool's definition may name the
resource that shows it (`_meta.ui.resourceUri`). Where an endpoint shows a resource under another
URI, these say the same. What holds no link is returned as it came, not copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from toolcrib_protocol.content import RESOURCE_LINK

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolcrib_protocol.json_value import Json, JsonObject

    ShownUri = Callable[[str], str]


def has_links(blocks: Json) -> bool:
    """Whether content blocks link to resources or carry some."""
    return isinstance(blocks, list) and any(map(_has_link, blocks))


def with_shown_links(blocks: Json, shown: ShownUri) -> Json:
    """Content blocks whose links are those that are shown."""
    if not isinstance(blocks, list):
        return blocks
    return [block_with_shown_link(block, shown) for block in blocks]


def block_with_shown_link(block: Json, shown: ShownUri) -> Json:
    """One block whose link is the one that is shown."""
    if not _has_link(block):
        return block
    linking = cast("JsonObject", block)
    if linking["type"] == RESOURCE_LINK:
        return with_shown_uri(linking, shown)
    return {**linking, "resource": with_shown_uri(linking.get("resource"), shown)}


def with_shown_uri(entry: Json, shown: ShownUri, key: str = "uri") -> Json:
    """An object whose URI is the one that is shown."""
    uri = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(uri, str):
        return entry
    return {**entry, key: shown(uri)}


def meta_with_shown_ui(meta: Json, shown: ShownUri) -> Json:
    """The `_meta` of a tool whose `ui.resourceUri` is the one that is shown."""
    ui = meta.get("ui") if isinstance(meta, dict) else None
    if not isinstance(meta, dict) or not isinstance(ui, dict):
        return meta
    return {**meta, "ui": with_shown_uri(ui, shown, "resourceUri")}


def _has_link(block: Json) -> bool:
    return isinstance(block, dict) and block.get("type") in {RESOURCE_LINK, "resource"}
