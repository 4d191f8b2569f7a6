"""What is visible through a view, for every path that asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.registry.samples import everything, published, version
from toolcrib_protocol.errors import NO_SUCH_VERSION, UNKNOWN_TOOL, ToolError
from toolcrib_protocol.names import ToolId
from toolcrib_registry.changes import PutGroup
from toolcrib_registry.records import EndpointMode, GroupRecord, ProfileRecord
from toolcrib_registry.snapshot import Snapshot
from toolcrib_registry.views import WHOLE, Sight, View

if TYPE_CHECKING:
    from toolcrib_registry.permissions import Caller

READ = ToolId("files", "read")
SEND = ToolId("mail", "send")
SNAPSHOT = Snapshot().with_changes(
    [
        *everything(),
        *published(version("read", group="files")),
        *published(version("draw", group="pictures")),
        PutGroup(GroupRecord("daily", members=(READ,))),
    ],
    1,
)


class _NotMail:
    def allows(self, caller: Caller, tool: ToolId) -> bool:
        return tool.group != "mail"


@pytest.mark.promise("endpoint-one-visibility")
@pytest.mark.parametrize(
    ("view", "seen"),
    [
        (WHOLE, ["files/read", "mail/send", "pictures/draw"]),
        (View(groups=("mail",)), ["mail/send"]),
        (View(groups=("daily", "mail")), ["files/read", "mail/send"]),
        (View(groups=("daily", "not there yet")), ["files/read"]),
        (View(groups=(), pins=(READ, ToolId("no", "tool"))), ["files/read"]),
        (View(groups=()), []),
    ],
)
def test_a_view_shows_the_tools_of_its_groups_and_its_pins(view: View, seen: list[str]) -> None:
    sight = Sight(SNAPSHOT, view)
    assert [str(head.tool) for head in sight.heads] == seen
    assert view.allows(SNAPSHOT, READ) is ("files/read" in seen)


def test_what_the_policy_refuses_is_not_seen_through_any_view() -> None:
    sight = Sight(SNAPSHOT, View(groups=("mail", "files")), _NotMail())
    assert [str(head.tool) for head in sight.heads] == ["files/read"]
    assert not sight.is_whole
    assert Sight(SNAPSHOT).is_whole
    assert not Sight(SNAPSHOT, policy=_NotMail()).is_whole


@pytest.mark.promise("endpoint-one-visibility")
@pytest.mark.parametrize("name", ["mail/send", "mail__send", "mail/sent", "mail/send@^1"])
def test_a_hidden_tool_is_as_unknown_as_one_there_is_not(name: str) -> None:
    with pytest.raises(ToolError, match="no tool is called") as refusal:
        Sight(SNAPSHOT, View(groups=("files",))).resolve(name)
    assert refusal.value.code == UNKNOWN_TOOL
    assert "mail" not in str(refusal.value.details)


def test_a_range_narrows_what_a_name_means() -> None:
    sight = Sight(SNAPSHOT)
    assert sight.resolve("mail__send", "^1").tool == SEND
    with pytest.raises(ToolError) as refusal:
        sight.resolve("mail__send", "^7")
    assert refusal.value.code == NO_SUCH_VERSION


def test_a_view_is_what_its_profile_says() -> None:
    profile = ProfileRecord("p", "t", "d", ("mail",), (READ,), EndpointMode.FULL, 2.5, 3)
    assert View.of(profile) == View("p", ("mail",), (READ,), EndpointMode.FULL, 2.5, 3)
