"""The groups that a caller may use, and their summary inside the description of `search_tools`.

The summary depends on the groups alone, so it stays the same (and a model provider's prompt cache with it) until a
group changes. Group descriptions come from sources: they are cut to one short line. Pure.
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

    from toolcrib_registry.permissions import Caller, Policy
    from toolcrib_registry.snapshot import Snapshot

SUMMARY_TOKENS: Final = 450
"""How many (estimated) tokens the summary may take, whatever the number of groups."""
_LINE_LENGTHS: Final = (120, 80, 50, 30)
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


def visible_groups(snapshot: Snapshot, policy: Policy, caller: Caller) -> tuple[GroupView, ...]:
    """The groups in which `caller` may use at least one tool, in order of their names."""
    members: dict[str, list[ToolId]] = {}
    elsewhere = {tool: [] for group in snapshot.groups.values() for tool in group.members}  # type: dict[ToolId, list[str]]
    for group in snapshot.groups.values():
        for tool in group.members:
            elsewhere[tool].append(group.name)
    for record in snapshot.live_tools():
        if policy.allows(caller, record.tool):
            for name in {record.tool.group, *elsewhere.get(record.tool, ())}:
                members.setdefault(name, []).append(record.tool)
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
    """The groups in at most `most_tokens`: descriptions get shorter first, then the smallest groups are counted."""
    if not groups:
        return "There are no tools yet."
    for length in (*_LINE_LENGTHS, 0):
        text = "\n".join(_line(group, length) for group in groups)
        if estimate_tokens(text) <= most_tokens:
            return text
    return _largest_of(groups, most_tokens)


def _view(snapshot: Snapshot, name: str, tools: Sequence[ToolId]) -> GroupView:
    record = snapshot.groups.get(name)
    told = (record.description or record.title) if record else ""
    if not told:
        names = sorted(tool.name for tool in tools)
        more = ", …" if len(names) > _NAMED_TOOLS else ""
        told = ", ".join(names[:_NAMED_TOOLS]) + more
    return GroupView(name, one_line(told, _LONGEST_DESCRIPTION), len(tools))


def _line(group: GroupView, length: int) -> str:
    told = f": {one_line(group.description, length)}" if length and group.description else ""
    return f"- {group.name} ({group.tools}){told}"


def _largest_of(groups: Sequence[GroupView], most_tokens: int) -> str:
    by_size = sorted(groups, key=lambda group: (-group.tools, group.name))
    shown: list[str] = []
    # The closing line has to fit as well; its length hardly depends on its numbers.
    room = most_tokens - estimate_tokens(_rest(len(groups), len(groups)))
    for group in by_size:
        line = _line(group, 0)
        room -= estimate_tokens(line) + 1
        if room < 0:
            break
        shown.append(line)
    return "\n".join([*shown, _rest(len(groups) - len(shown), len(groups))])


def _rest(left_out: int, total: int) -> str:
    return f"(the largest groups; {left_out} more of {total} are not listed, but searched all the same)"
