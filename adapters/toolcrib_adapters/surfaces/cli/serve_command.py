"""`toolcrib serve`: one MCP endpoint in front of all sources, until told to end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.extras import load
from toolcrib_adapters.main import open_store
from toolcrib_adapters.outbound.addresses import Reach  # noqa: TC001 - typer reads it
from toolcrib_adapters.surfaces.attach.place import CAN_ATTACH, Place, RunAlone
from toolcrib_adapters.surfaces.cli.session import HomeOption, Session
from toolcrib_adapters.surfaces.cli.wishes import wish_of
from toolcrib_adapters.surfaces.endpoints import Endpoint, EndpointKind
from toolcrib_registry.records import EndpointMode

if TYPE_CHECKING:
    from toolcrib_adapters.declarations.following import FollowedFile
    from toolcrib_adapters.declarations.reading import DeclaredCrib
    from toolcrib_adapters.surfaces.attach.greeting import Wish

DEFAULT_PORT = 8765
_MIB = 1024 * 1024
_EDGE = "At the edge (HTTP)"


ModeOption = Annotated[
    EndpointMode | None,
    typer.Option(
        help="dynamic: the meta-tools. full: all tools natively. auto: full while they cost few "
        "tokens. Default: as the profile says.",
        show_default=False,
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("serve")(serve)


def serve(
    context: typer.Context,
    stdio: Annotated[
        bool,
        typer.Option(
            "--stdio", help="Speak MCP on standard input and output, for a client that starts us."
        ),
    ] = False,
    mode: ModeOption = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group", "-g", help="With --stdio: only this group, under its sources' own names."
        ),
    ] = None,
    profile: Annotated[
        str | None, typer.Option("--profile", help="With --stdio: what this profile shows.")
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="The port; 0 takes a free one.", min=0, max=65_535)
    ] = DEFAULT_PORT,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allowed-host",
            metavar="NAME",
            help="A name under which clients may address this endpoint, besides HOST: "
            "crib.example.org (any port) or crib.example.org:8443; repeatable.",
            rich_help_panel=_EDGE,
        ),
    ] = None,
    allowed_origin: Annotated[
        list[str] | None,
        typer.Option(
            "--allowed-origin",
            metavar="ORIGIN",
            help="Web pages that may use this endpoint: https://app.example.org or "
            "http://localhost:*; repeatable.",
            rich_help_panel=_EDGE,
        ),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            "--trusted-proxy",
            metavar="ADDRESS",
            help="An address or network whose X-Forwarded-Host, -Proto and -For are believed: "
            "127.0.0.1 or 10.0.0.0/8; repeatable. Those of others are ignored.",
            rich_help_panel=_EDGE,
        ),
    ] = None,
    public_url: Annotated[
        str,
        typer.Option(
            "--public-url",
            metavar="URL",
            help="Where clients reach this endpoint from outside, without /mcp; its name is an "
            "allowed host.",
            rich_help_panel=_EDGE,
            show_default=False,
        ),
    ] = "",
    body_limit: Annotated[
        int,
        typer.Option(
            "--body-limit", metavar="MIB", help="The largest request.", min=1, rich_help_panel=_EDGE
        ),
    ] = 8,
    max_requests: Annotated[
        int,
        typer.Option(
            "--max-requests",
            help="How many requests of one endpoint may run at once.",
            min=1,
            rich_help_panel=_EDGE,
        ),
    ] = 1_000,
    max_sessions: Annotated[
        int,
        typer.Option(
            "--max-sessions",
            help="How many sessions of older clients are kept; beyond that the oldest idle one "
            "ends.",
            min=1,
            rich_help_panel=_EDGE,
        ),
    ] = 2_000,
    session_idle: Annotated[
        float,
        typer.Option(
            "--session-idle",
            metavar="SECONDS",
            help="A session of an older client that asked nothing for so long ends.",
            min=1,
            rich_help_panel=_EDGE,
        ),
    ] = 1_800,
    drain: Annotated[
        float,
        typer.Option(
            "--drain",
            metavar="SECONDS",
            help="How long calls that run may take to finish when the endpoint is told to end.",
            min=0,
            rich_help_panel=_EDGE,
        ),
    ] = 10,
    upstream_addresses: Annotated[
        Reach | None,
        typer.Option(
            "--upstream-addresses",
            help="Where sources may be: public (the internet), lan (also private networks), local "
            "(also this machine). Default: TOOLCRIB_UPSTREAM_ADDRESSES, else local. A crib that "
            "clients share reads the variable only.",
            rich_help_panel=_EDGE,
            show_default=False,
        ),
    ] = None,
    allow_publish: Annotated[
        bool | None,
        typer.Option(
            "--allow-publish/--no-publish",
            help="Let clients register tools at run time, Python files of this machine included. "
            "Default: only on --stdio, or on a loopback address without a proxy or other name.",
            show_default=False,
        ),
    ] = None,
    attach: Annotated[
        bool,
        typer.Option(
            help="Share one running crib with the other clients of this home; --no-attach runs the "
            "sources for this process alone.",
        ),
    ] = True,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="A crib.toml: applied at start, and again on SIGHUP. Its limits and policies hold "
            "where the command line says nothing.",
            show_default=False,
        ),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Apply --config again when the file changes.")
    ] = False,
    home: HomeOption = None,
) -> None:
    """Serve all tools at one MCP endpoint: http://HOST:PORT/mcp.

    Each group is served alone at /mcp/GROUP, each profile at /mcp/profile/NAME. Point your MCP
    client at a URL, or let it start `toolcrib serve --stdio` (with --group or --profile): clients
    that each start it share one crib, which ends with the last of them. What other commands change
    in the same home takes effect here within a second. Ctrl-C or SIGTERM ends it: calls that run
    get ten seconds (--drain) to finish. Health is at /livez and /readyz, numbers at /metrics.

    Example, behind a proxy on the same machine:
    toolcrib serve --public-url https://crib.example.org --trusted-proxy 127.0.0.1
    """
    shown = _shown(mode, group, profile, stdio=stdio)
    if watch and config is None:
        raise typer.BadParameter("there is no --config to watch", param_hint="--watch")
    if watch and stdio and attach and CAN_ATTACH:
        text = "a crib that clients share outlives this process; watch with `toolcrib serve`, or"
        raise typer.BadParameter(f"{text} add --no-attach", param_hint="--watch")
    session = Session.start(home)

    options: dict[str, object] = {
        "host": host,
        "port": port,
        "allowed_hosts": tuple(allowed_host or ()),
        "allowed_origins": tuple(allowed_origin or ()),
        "trusted_proxies": tuple(trusted_proxy or ()),
        "public_url": public_url,
        "most_body_bytes": body_limit * _MIB,
        "most_requests": max_requests,
        "most_sessions": max_sessions,
        "idle_seconds": session_idle,
        "drain_seconds": drain,
    }

    def is_given(option: str) -> bool:
        source = context.get_parameter_source(option)
        return source is not None and source.name != "DEFAULT"

    async def work() -> None:
        followed, publishing, settings = None, allow_publish, session.settings
        if config is not None:
            followed, declared = await _followed(session, config, watch=watch, stdio=stdio)
            options.update(load("serving.settings")(declared, is_given))
            settings = load("serving.reach")(declared, settings)
            if publishing is None:
                publishing = declared.policies.allow_publish
        if upstream_addresses is not None:
            settings = replace(settings, upstream_addresses=upstream_addresses)
        if stdio and attach and CAN_ATTACH:
            wish = wish_of(settings).model_copy(
                update={
                    "group": group,
                    "profile": profile,
                    "mode": mode.value if mode else None,
                    "publishes": publishing is not False,
                }
            )
            if await _bridged(session, wish):
                return
        http = None if stdio else load("serving.http")(**options)
        endpoint = load("serving.endpoint")(http, publishing, shown, attach and CAN_ATTACH)
        await load("serving.serve")(settings, endpoint, session.output.note, followed)

    session.run(work)


async def _followed(
    session: Session, config: Path, *, watch: bool, stdio: bool
) -> tuple[FollowedFile, DeclaredCrib]:
    """The file, applied before any source starts, and what it says."""
    # A client that goes away hangs up on the standard streams; that is no wish for anything.
    followed: FollowedFile = load("declarations.followed")(
        config,
        SystemClock(),
        session.output.note,
        is_watched=watch,
        hears_hangup=not stdio,
    )
    async with open_store(session.settings) as store:
        return followed, await followed.start(store)


def _shown(
    mode: EndpointMode | None, group: str | None, profile: str | None, *, stdio: bool
) -> Endpoint:
    """What the standard streams show, with the mode of the plain endpoint."""
    if (group or profile) and not stdio:
        where = f"/mcp/{group}" if group else f"/mcp/profile/{profile}"
        raise typer.BadParameter(
            f"only with --stdio; over HTTP it is served at {where}, beside all others",
            param_hint="--group" if group else "--profile",
        )
    if group and (profile or mode):
        other = "--profile" if profile else "--mode"
        text = f"the list of a group is fixed, so {other} says nothing about it; leave one out"
        raise typer.BadParameter(text, param_hint="--group")
    if group:
        return Endpoint(EndpointKind.GROUP, group)
    if profile:
        return Endpoint(EndpointKind.PROFILE, profile, mode)
    return Endpoint(EndpointKind.MAIN, mode=mode)


async def _bridged(session: Session, wish: Wish) -> bool:
    """Serve from the crib that the clients of this home share; False if it is not for this one."""
    say = session.output.note
    try:
        await load("serving.attach")(Place(session.settings.home), wish, say)
    except RunAlone as reason:
        say(f"toolcrib: {reason}; this client gets a crib of its own")
        return False
    return True
