"""`toolcrib group create | add | remove | describe | drop`: groups of tools from any source."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib_adapters.main import open_store
from toolcrib_adapters.surfaces.cli.catalogue_commands import read_snapshot
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.groups import (
    add_members,
    create_group,
    drop_group,
    home_of,
    known_group,
    put_group,
    remove_members,
)
from toolcrib_registry.records import GroupRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.names import ToolId
    from toolcrib_registry.changes import Change
    from toolcrib_registry.snapshot import Snapshot

    Decide = Callable[[Snapshot], list[Change]]

NameArgument = Annotated[str, typer.Argument(help="The group's name.")]
ToolsArgument = Annotated[
    list[str], typer.Argument(help="References (group/tool) or published names.")
]
TitleOption = Annotated[str | None, typer.Option(help="A name for people.")]
DescriptionOption = Annotated[
    str | None, typer.Option(help="What its tools are for; agents read it.")
]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    group = typer.Typer(
        help='Groups of tools from any source: toolcrib group create office --description "...".',
        no_args_is_help=True,
    )
    for command in (create, add, remove, describe, drop):
        group.command()(command)
    app.add_typer(group, name="group")


def create(
    name: NameArgument,
    tools: Annotated[
        list[str] | None, typer.Argument(help="References (group/tool) or published names.")
    ] = None,
    title: TitleOption = None,
    description: DescriptionOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a group: toolcrib group create office mail/send calendar/list_events."""

    def decide(snapshot: Snapshot) -> list[Change]:
        members = _known_tools(snapshot, tools or ())
        record = GroupRecord(name, title or "", description or "", members)
        return create_group(snapshot, record)

    _change(Session.start(home, as_json=as_json), name, decide)


def add(
    name: NameArgument,
    tools: ToolsArgument,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put tools into a group; they stay at home where they are."""

    def decide(snapshot: Snapshot) -> list[Change]:
        return add_members(snapshot, name, _known_tools(snapshot, tools))

    _change(Session.start(home, as_json=as_json), name, decide)


def remove(
    name: NameArgument,
    tools: ToolsArgument,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take tools out of a group."""

    def decide(snapshot: Snapshot) -> list[Change]:
        # A member may be of a tool that no source ever offered: then it is written as it stands.
        named = tuple(snapshot.identify(text).tool for text in tools)
        return remove_members(snapshot, name, named)

    _change(Session.start(home, as_json=as_json), name, decide)


def describe(
    name: NameArgument,
    title: TitleOption = None,
    description: DescriptionOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what a group is for; without an option, show it and its members."""
    only_reads = title is None and description is None
    session = Session.start(home, as_json=as_json, only_reads=only_reads)

    def decide(snapshot: Snapshot) -> list[Change]:
        known = known_group(snapshot, name)
        told = replace(
            known,
            title=known.title if title is None else title,
            description=known.description if description is None else description,
        )
        return put_group(snapshot, told)

    if only_reads:
        _show(session, name)
    else:
        _change(session, name, decide)


def drop(name: NameArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Drop a group; its tools stay."""
    session = Session.start(home, as_json=as_json)

    async def work() -> None:
        async with open_store(session.settings) as store:
            catalogue = await Catalogue.open(store)
            await catalogue.change(lambda snapshot: drop_group(snapshot, name))
        if as_json:
            session.output.document({"dropped": name})
        else:
            session.output.note(f"dropped: {name}")

    session.run(work)


def _change(session: Session, name: str, decide: Decide) -> None:
    async def work() -> None:
        async with open_store(session.settings) as store:
            catalogue = await Catalogue.open(store)
            after = await catalogue.change(decide)
        _print(session, _document(after, name))

    session.run(work)


def _show(session: Session, name: str) -> None:
    async def work() -> None:
        snapshot = await read_snapshot(session)
        known_group(snapshot, name)
        _print(session, _document(snapshot, name))

    session.run(work)


def _known_tools(snapshot: Snapshot, texts: Iterable[str]) -> tuple[ToolId, ...]:
    found = [snapshot.identify(text).tool for text in texts]
    for text, tool in zip(texts, found, strict=True):
        if tool not in snapshot.tools:
            raise snapshot.unknown(text)
    return tuple(found)


def _document(snapshot: Snapshot, name: str) -> JsonObject:
    group = snapshot.groups[name]
    live = {record.tool for record in snapshot.live_tools()}
    return {
        "name": name,
        "title": group.title,
        "description": group.description,
        "home_of": home_of(snapshot, name),
        "members": [
            {"tool": str(tool), "at_home": tool.group == name, "callable": tool in live}
            for tool in sorted(snapshot.members(name))
        ],
    }


def _print(session: Session, document: JsonObject) -> None:
    if session.output.as_json:
        session.output.document(document)
        return
    session.output.line(f"{document['name']}: {document['title']}".rstrip(": "), style="bold")
    if document["description"]:
        session.output.line(str(document["description"]))
    members = document["members"]
    for member in members if isinstance(members, list) else ():
        if isinstance(member, dict):
            away = "" if member["callable"] else " (may not be called now)"
            session.output.line(f"  {member['tool']}{away}")
