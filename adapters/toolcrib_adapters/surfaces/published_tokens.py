"""What an endpoint costs a model in each mode, before it does anything. Estimates.

Loaded by the commands that tell it: it needs the wire's own modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_adapters.surfaces.group_summary import summary, visible_groups
from toolcrib_adapters.surfaces.meta_tools import definitions
from toolcrib_adapters.surfaces.native_tools import definition_tokens
from toolcrib_protocol.budget import estimate_tokens
from toolcrib_protocol.json_value import dump_json

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.views import Sight


def published_tokens(sight: Sight) -> JsonObject:
    """About how many tokens the definitions cost, by mode."""
    pins = set(sight.view.pins)
    pinned = sum(definition_tokens(head) for head in sight.heads if head.tool in pins)
    meta_tools = dump_json([*definitions(summary(visible_groups(sight)))])
    return {
        "dynamic": estimate_tokens(meta_tools) + pinned,
        "full": sum(map(definition_tokens, sight.heads)),
    }
