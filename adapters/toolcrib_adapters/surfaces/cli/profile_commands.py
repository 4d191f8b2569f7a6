"""`toolcrib profile list | show | create | edit | remove`: what one kind of client sees."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolcrib_adapters.extras import load
from toolcrib_adapters.main import open_store
from toolcrib_adapters.surfaces.cli.output import short
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session
from toolcrib_adapters.surfaces.endpoints import MAIN, Endpoint, EndpointKind
from toolcrib_protocol.names import nearest
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.profiles import (
    create_profile,
    edit_profile,
    profile_named,
    remove_profile,
)
from toolcrib_registry.records import DEFAULT_PROFILE, EndpointMode, ProfileRecord
from toolcrib_registry.views import Sight, View

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_protocol.names import ToolId
    from toolcrib_registry.changes import Change
    from toolcrib_registry.snapshot import Snapshot

NameArgument = Annotated[str, typer.Argument(help="Its name; `default` is the one of /mcp.")]
TitleOption = Annotated[str | None, typer.Option(help="A title for people.")]
DescriptionOption = Annotated[str | None, typer.Option(help="What it is for.")]
GroupsOption = Annotated[
    list[str] | None,
    typer.Option("--group", "-g", help="Show the tools of this group only; repeatable."),
]
PinsOption = Annotated[
    list[str] | None,
    typer.Option("--pin", help="A tool to list natively in every mode; repeatable."),
]
ModeOption = Annotated[
    EndpointMode | None,
    typer.Option(
        help="dynamic: the meta-tools and what is pinned. full: all tools natively. auto: full "
        "while they cost few tokens."
    ),
]
TimeoutOption = Annotated[
    float | None, typer.Option("--timeout", help="The longest a call may take, in seconds.")
]
CallsOption = Annotated[
    int | None, typer.Option("--calls-at-once", help="How many calls may run at the same time.")
]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    profile = typer.Typer(
        help="Profiles: the groups, pinned tools, mode and limits of one kind of client.",
        no_args_is_help=True,
    )
    profile.command("list")(list_profiles)
    profile.command("show")(show)
    profile.command("create")(create)
    profile.command("edit")(edit)
    profile.command("remove")(remove)
    app.add_typer(profile, name="profile")


def list_profiles(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List the profiles and where they are served."""
    session = Session.start(home, as_json=as_json, only_reads=True)

    async def work() -> None:
        async with open_store(session.settings) as store:
            snapshot = await store.snapshot()
        names = sorted({DEFAULT_PROFILE, *snapshot.profiles})
        rows = [_row(snapshot, profile_named(snapshot, name)) for name in names]
        if as_json:
            session.output.document({"profiles": [*rows]})
            return
        session.output.table(
            ["profile", "path", "mode", "tools", "groups"],
            [
                (str(row["name"]), str(row["path"]), str(row["mode"]), str(row["tools"]), groups)
                for row in rows
                if (groups := _groups_in_words(row))
            ],
            empty="no profiles",
        )

    session.run(work)


def show(name: NameArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show one profile, and what its tools cost a model: toolcrib profile show default."""
    session = Session.start(home, as_json=as_json, only_reads=True)

    async def work() -> None:
        async with open_store(session.settings) as store:
            snapshot = await store.snapshot()
        profile = profile_named(snapshot, name)
        tokens = load("published_tokens")(Sight(snapshot, View.of(profile)))
        row = {**_row(snapshot, profile), "tokens": tokens}
        if as_json:
            session.output.document(row)
            return
        for key, fact in row.items():
            told = _groups_in_words(row) if key == "groups" else _in_words(fact)
            session.output.line(f"{key:16}{told}")

    session.run(work)


def create(
    name: NameArgument,
    title: TitleOption = None,
    description: DescriptionOption = None,
    group: GroupsOption = None,
    pin: PinsOption = None,
    mode: ModeOption = None,
    timeout: TimeoutOption = None,
    calls_at_once: CallsOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a profile: toolcrib profile create phone --group mail --mode dynamic --timeout 20.

    It is served at /mcp/profile/NAME by a running `toolcrib serve` at once.
    """
    session = Session.start(home, as_json=as_json)

    def decide(snapshot: Snapshot) -> list[Change]:
        profile = ProfileRecord(
            name,
            title or "",
            description or "",
            None if group is None else tuple(group),
            _pins(snapshot, pin or []),
            mode or EndpointMode.AUTO,
            timeout,
            calls_at_once,
        )
        return create_profile(snapshot, profile)

    session.run(partial(_change, session, name, decide))


def edit(
    name: NameArgument,
    title: TitleOption = None,
    description: DescriptionOption = None,
    group: GroupsOption = None,
    all_groups: Annotated[
        bool, typer.Option("--all-groups", help="Show the tools of every group again.")
    ] = False,
    pin: PinsOption = None,
    no_pins: Annotated[bool, typer.Option("--no-pins", help="Pin nothing any more.")] = False,
    mode: ModeOption = None,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", help="The longest a call may take, in seconds; 0: no limit."),
    ] = None,
    calls_at_once: Annotated[
        int | None,
        typer.Option("--calls-at-once", help="How many calls may run at once; 0: any number."),
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change what is named, leave the rest: toolcrib profile edit default --mode full."""
    session = Session.start(home, as_json=as_json, only_reads=True)

    def decide(snapshot: Snapshot) -> list[Change]:
        given: dict[str, Any] = {
            "title": title,
            "description": description,
            "groups": None if group is None else tuple(group),
            "pins": () if no_pins else _pins(snapshot, pin) if pin else None,
            "mode": mode,
            "timeout_seconds": timeout,
            "calls_at_once": calls_at_once,
        }
        changed = {key: value for key, value in given.items() if value is not None}
        changed |= {"groups": None} if all_groups else {}
        changed |= {key: None for key in _LIMITS if given[key] == 0}
        return edit_profile(snapshot, name, lambda before: replace(before, **changed))

    session.run(partial(_change, session, name, decide))


_LIMITS = ("timeout_seconds", "calls_at_once")


def remove(
    names: Annotated[list[str], typer.Argument(help="Profiles to take away.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take profiles away; `default` goes back to showing everything."""
    session = Session.start(home, as_json=as_json, only_reads=True)

    def decide(snapshot: Snapshot) -> list[Change]:
        return [change for name in names for change in remove_profile(snapshot, name)]

    async def work() -> None:
        async with open_store(session.settings) as store:
            await (await Catalogue.open(store)).change(decide)
        if as_json:
            session.output.document({"removed": [*names]})
        else:
            session.output.note(f"removed: {', '.join(names)}")

    session.run(work)


async def _change(session: Session, name: str, decide: Callable[[Snapshot], list[Change]]) -> None:
    async with open_store(session.settings) as store:
        snapshot = await (await Catalogue.open(store)).change(decide)
    row = _row(snapshot, profile_named(snapshot, name))
    if session.output.as_json:
        session.output.document(row)
        return
    session.output.note(f"{name}: {_groups_in_words(row)}, {row['tools']} tools, at {row['path']}")
    for missing in _missing(snapshot, name):
        close = nearest(missing, snapshot.groups)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        session.output.note(f"there is no group {missing!r} yet{hint}", style="yellow")


def _missing(snapshot: Snapshot, name: str) -> list[str]:
    groups = profile_named(snapshot, name).groups or ()
    return [g for g in groups if not Endpoint(EndpointKind.GROUP, g).exists(snapshot)]


def _pins(snapshot: Snapshot, names: list[str]) -> tuple[ToolId, ...]:
    """The tools that published names or references mean."""
    references = (snapshot.identify(name) for name in names)
    return tuple(snapshot.resolve(reference).tool for reference in references)


def _row(snapshot: Snapshot, profile: ProfileRecord) -> JsonObject:
    path = MAIN if profile.name == DEFAULT_PROFILE else Endpoint(EndpointKind.PROFILE, profile.name)
    return {
        "name": profile.name,
        "path": path.path,
        "title": profile.title,
        "description": profile.description,
        "mode": profile.mode.value,
        "groups": None if profile.groups is None else [*profile.groups],
        "pins": [str(pin) for pin in profile.pins],
        "timeout_seconds": profile.timeout_seconds,
        "calls_at_once": profile.calls_at_once,
        "tools": len(Sight(snapshot, View.of(profile)).heads),
    }


def _groups_in_words(row: JsonObject) -> str:
    groups = row["groups"]
    return "all groups" if not isinstance(groups, list) else ", ".join(map(str, groups)) or "none"


def _in_words(fact: object) -> str:
    if isinstance(fact, list):
        return ", ".join(map(str, fact))
    if isinstance(fact, dict):
        return ", ".join(f"about {tokens:,} in mode {mode}" for mode, tokens in fact.items())
    return "" if fact is None else short(str(fact))
