"""Under which names the endpoint of a group lists its tools: those that their sources gave them.

Where two tools have the same name, the later one keeps its published name: those at home in the
group come first, then the others in the order in which they were put into it. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_protocol.names import published_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_protocol.names import ToolId
    from toolcrib_registry.records import VersionRecord
    from toolcrib_registry.views import Sight


def bare_names(sight: Sight, group: str) -> dict[str, VersionRecord]:
    """The callable tools of a group by the name they are listed under, in order of these names."""
    names: dict[str, VersionRecord] = {}
    for record in _in_order(sight, group):
        names[_free_name(sight, record, names)] = record
    return dict(sorted(names.items()))


def _in_order(sight: Sight, group: str) -> Iterator[VersionRecord]:
    heads = {head.tool: head for head in sight.heads}
    yield from (head for tool, head in heads.items() if tool.group == group)
    known = sight.snapshot.groups.get(group)
    members: tuple[ToolId, ...] = known.members if known is not None else ()
    guests = dict.fromkeys(tool for tool in members if tool.group != group)
    yield from (heads[tool] for tool in guests if tool in heads)


def _free_name(sight: Sight, record: VersionRecord, taken: dict[str, VersionRecord]) -> str:
    published = sight.snapshot.tools[record.tool].published_name
    for name in (record.tool.name, published):
        if name not in taken:
            return name
    # Somebody gave a tool the name under which another one is published.
    return published_name(record.tool, taken)
