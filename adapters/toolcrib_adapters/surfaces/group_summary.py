"""The groups that a caller may use, and their summary inside the description of `search_tools`.

The summary depends on the groups alone, so it stays the same (and a model provider's prompt cache
with it) until a group changes. Group descriptions come from sources: they are cut to one short
line. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.budget import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.names import ToolId
    from toolcrib_registry.snapshot import Snapshot
    from toolcrib_registry.views import Sight

SUMMARY_TOKENS: Final = 360
"""How many (estimated) tokens the summary may take, whatever the number of groups."""
_LINE_LENGTHS: Final = (120, 80, 50, 30, 18)
_NAMED_TOOLS: Final = 3
_LONGEST_DESCRIPTION: Final = 200
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s|(?<=[。！？])")
# Control characters, and the marks that hide or reverse text.
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group as a caller sees it: its name, what it is for, how many callable tools it has."""

    name: str
    description: str
    tools: int

    def as_json(self) -> JsonObject:
        """The group for answers."""
        return {"name": self.name, "description": self.description, "tools": self.tools}


def visible_groups(sight: Sight) -> tuple[GroupView, ...]:
    """The groups of a sight in which at least one tool may be called, in order of their names."""
    snapshot, shown = sight.snapshot, sight.view.groups
    guests: dict[ToolId, set[str]] = {}
    for group in snapshot.groups.values():
        for guest in group.members:
            guests.setdefault(guest, set()).add(group.name)
    members: dict[str, list[ToolId]] = {}
    for head in sight.heads:
        for name in {head.tool.group, *guests.get(head.tool, ())}:
            if shown is None or name in shown:
                members.setdefault(name, []).append(head.tool)
    return tuple(_view(snapshot, name, members[name]) for name in sorted(members))


def one_line(text: str, longest: int) -> str:
    """The first sentence of `text` on one line, cut at a word if it is longer than `longest`."""
    flat = " ".join(_UNSEEN.sub(" ", text).split())
    sentence = _SENTENCE_END.split(flat, maxsplit=1)[0]
    if len(sentence) <= longest:
        return sentence
    cut = sentence[:longest].rpartition(" ")[0] or sentence[:longest]
    return f"{cut.rstrip(' ,;:.')}…"


def summary(groups: Sequence[GroupView], most_tokens: int = SUMMARY_TOKENS) -> str:
    """The groups in at most `most_tokens`.

    Descriptions get shorter first, then only the largest groups are named.
    """
    if not groups:
        return "There are no tools yet."
    for length in _LINE_LENGTHS:
        text = "\n".join(f"- {_counted(group)}{_told(group, length)}" for group in groups)
        if estimate_tokens(text) <= most_tokens:
            return text
    names = ", ".join(map(_counted, groups))
    return names if estimate_tokens(names) <= most_tokens else _largest_of(groups, most_tokens)


def _view(snapshot: Snapshot, name: str, tools: Sequence[ToolId]) -> GroupView:
    record = snapshot.groups.get(name)
    told = (record.description or record.title) if record else ""
    if not told:
        names = sorted(tool.name for tool in tools)
        more = ", …" if len(names) > _NAMED_TOOLS else ""
        told = ", ".join(names[:_NAMED_TOOLS]) + more
    return GroupView(name, one_line(told, _LONGEST_DESCRIPTION), len(tools))


def _counted(group: GroupView) -> str:
    return f"{group.name} ({group.tools})"


def _told(group: GroupView, length: int) -> str:
    return f": {one_line(group.description, length)}" if group.description else ""


def _largest_of(groups: Sequence[GroupView], most_tokens: int) -> str:
    by_size = sorted(groups, key=lambda group: (-group.tools, group.name))
    shown: list[str] = []
    # The closing words have to fit as well; their length hardly depends on their numbers.
    room = most_tokens - estimate_tokens(_rest(len(groups), len(groups)))
    for written in map(_counted, by_size):
        room -= estimate_tokens(written) + 1
        if room < 0:
            break
        shown.append(written)
    return ", ".join(shown) + _rest(len(groups) - len(shown), len(groups))


def _rest(left_out: int, total: int) -> str:
    more = f"{left_out} more of {total}"
    return f" (the largest groups; {more} are not listed, but searched all the same)"
