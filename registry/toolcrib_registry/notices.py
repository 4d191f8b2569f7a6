"""What a source tells on its own: that something of it changed, or what it logs.

Values. Who hears of them is `ports.Notices`; what is made of them, the surfaces know.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject

SUSPECTED: Final = "suspected"
"""Set in the `params` of a notice of a list that may have changed, but was not said to have."""


class NoticeKind(StrEnum):
    """What a source may tell besides its answers and its tools."""

    TOOLS_CHANGED = "tools/list_changed"
    """It said that its tools changed, and they have been listed again."""
    RESOURCES_CHANGED = "resources/list_changed"
    """Its lists of resources and of templates are to be read again."""
    PROMPTS_CHANGED = "prompts/list_changed"
    RESOURCE_UPDATED = "resources/updated"
    """A resource that was subscribed to has changed; `params` has its `uri`."""
    LOG_MESSAGE = "message"
    """Words of the source that belong to no call it could name."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that a source told on its own."""

    source: str
    kind: NoticeKind
    params: JsonObject = field(default_factory=dict)
