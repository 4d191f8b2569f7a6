"""`toolcrib overlay | overlays`: what the operator lays over tools that others wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from toolcrib_adapters.main import open_crib
from toolcrib_adapters.surfaces.cli.catalogue_commands import read_snapshot
from toolcrib_adapters.surfaces.cli.output import short
from toolcrib_adapters.surfaces.cli.refreshing import index_all
from toolcrib_adapters.surfaces.cli.session import HomeOption, JsonOption, Session
from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError
from toolcrib_protocol.json_value import dump_json, parse_json
from toolcrib_protocol.overlay import Overlay
from toolcrib_protocol.version import VersionRange
from toolcrib_registry.overlaying import newest_offered, put_overlay
from toolcrib_registry.retirement import is_misfit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from toolcrib_adapters.main import Crib
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.names import ToolId
    from toolcrib_registry.changes import Change
    from toolcrib_registry.records import OverlayRecord, ToolRecord
    from toolcrib_registry.snapshot import Snapshot

_FLAG: Final = {"show_default": False}


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("overlay")(overlay)
    app.command("overlays")(overlays)


def overlay(
    ref: Annotated[str, typer.Argument(help="A reference (group/tool) or a published name.")],
    title: Annotated[str | None, typer.Option(help="A name for people.")] = None,
    description: Annotated[
        str | None, typer.Option(help="Takes the place of the source's own.")
    ] = None,
    when_to_use: Annotated[str | None, typer.Option(help="What the tool is right for.")] = None,
    when_not_to_use: Annotated[
        str | None, typer.Option(help="What it is wrong for, and what is right there.")
    ] = None,
    example: Annotated[
        list[str] | None,
        typer.Option(
            help='A request in words, or {"request": ..., "arguments": {...}}; repeatable.'
        ),
    ] = None,
    read_only: Annotated[
        bool | None,
        typer.Option("--read-only/--not-read-only", help="A call changes nothing.", **_FLAG),
    ] = None,
    destructive: Annotated[
        bool | None,
        typer.Option("--destructive/--not-destructive", help="It may destroy something.", **_FLAG),
    ] = None,
    idempotent: Annotated[
        bool | None,
        typer.Option("--idempotent/--not-idempotent", help="Twice is like once.", **_FLAG),
    ] = None,
    open_world: Annotated[
        bool | None,
        typer.Option("--open-world/--not-open-world", help="It reaches outside.", **_FLAG),
    ] = None,
    idempotency_key: Annotated[
        str | None,
        typer.Option(
            help="PLACE:NAME: how a key that makes repeating harmless travels to the tool; "
            "PLACE is argument, header or meta."
        ),
    ] = None,
    error: Annotated[
        list[str] | None,
        typer.Option(
            help="CODE=KIND: an error of the tool's own, retryable, fatal or needs_human; "
            "repeatable."
        ),
    ] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds a call may take.")] = None,
    degraded: Annotated[
        str | None,
        typer.Option(
            help='JSON: what may be answered when the tool cannot, {"result": ...} or '
            '{"arguments": {...}}.'
        ),
    ] = None,
    batch: Annotated[
        str | None,
        typer.Option(
            help="TOOL:ARGUMENT: another tool of the group that does many of these calls at once, "
            "and its argument that takes the list."
        ),
    ] = None,
    preset: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=VALUE: send this with every call; callers neither see nor choose it. "
            "VALUE is text where the argument is, else JSON; repeatable."
        ),
    ] = None,
    hide_argument: Annotated[
        list[str] | None,
        typer.Option(help="An argument that callers neither see nor give; repeatable."),
    ] = None,
    hide: Annotated[
        bool | None,
        typer.Option("--hide/--show", help="Do not offer the tool at all.", **_FLAG),
    ] = None,
    unset: Annotated[
        list[str] | None,
        typer.Option(help="Take a part away again, e.g. title, presets; repeatable."),
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Take the whole overlay away.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what a source does not: toolcrib overlay mail/send --when-to-use "..." --not-read-only.

    Adds to the overlay that the tool has; it stays when the source lists the tool again, and what
    it changes is a new version of the tool. A crib that serves takes it over within a second.
    """
    session = Session.start(home, as_json=as_json)
    told: dict[str, Json] = {
        "title": title,
        "description": description,
        "when_to_use": when_to_use,
        "when_not_to_use": when_not_to_use,
        "examples": [*map(_example, example)] if example else None,
        "read_only": read_only,
        "destructive": destructive,
        "idempotent": idempotent,
        "open_world": open_world,
        "idempotency_key": None if idempotency_key is None else _key(idempotency_key),
        "errors": [*map(_error, error)] if error else None,
        "timeout_seconds": timeout,
        "degraded": None if degraded is None else _json(degraded, "--degraded"),
        "batch": None if batch is None else _batch(batch),
        "hidden_arguments": [*dict.fromkeys(hide_argument)] if hide_argument else None,
        "hidden": hide,
    }
    kept = {name: value for name, value in told.items() if value is not None}
    wish = _Wish(kept, dict(map(_pair, preset or ())), tuple(unset or ()), clear)

    async def work() -> JsonObject:
        wish.check()
        async with open_crib(session.settings, wants=lambda _: False) as crib:
            document = await _lay(crib, ref, wish)
            await index_all(session, crib)
            return document

    document = session.run(work)
    if as_json:
        session.output.document(document)
    else:
        session.output.note(f"{document['tool']}: {document['outcome']}")


def overlays(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List the overlays and what became of each."""
    session = Session.start(home, as_json=as_json, only_reads=True)

    async def work() -> None:
        snapshot = await read_snapshot(session)
        rows = [_row(snapshot, snapshot.overlays[tool]) for tool in sorted(snapshot.overlays)]
        if as_json:
            session.output.document({"overlays": [*rows]})
            return
        session.output.table(
            ["tool", "state", "overlay"],
            [
                (str(row["tool"]), str(row["state"]), short(dump_json(row["overlay"]), 100))
                for row in rows
            ],
            empty='no overlays; `toolcrib overlay REF --when-to-use "..."` makes one',
        )

    session.run(work)


class _Wish:
    """What the command line asks for."""

    def __init__(
        self,
        told: Mapping[str, Json],
        presets: Mapping[str, str],
        unset: tuple[str, ...],
        clear: bool,
    ) -> None:
        self._told = told
        self._presets = presets
        self._unset = tuple(name.replace("-", "_") for name in unset)
        self._clear = clear

    def check(self) -> None:
        """Refuse a command line that asks for nothing, or for what there is not.

        Raises:
            ToolError: `invalid_settings`.
        """
        if not (self._told or self._presets or self._unset or self._clear):
            raise ToolError(
                INVALID_SETTINGS,
                "say what to lay over the tool, for example --when-to-use TEXT or --read-only; "
                "`toolcrib overlays` lists what there is",
            )
        unknown = [name for name in self._unset if name not in Overlay.model_fields]
        if unknown:
            parts = ", ".join(Overlay.model_fields)
            raise ToolError(
                INVALID_SETTINGS, f"an overlay has no part {unknown[0]!r}; its parts are {parts}"
            )

    def on(self, known: OverlayRecord | None, tool: ToolRecord) -> Overlay:
        """The overlay that there shall be on a tool.

        Raises:
            ToolError: `invalid_settings`, naming the part.
        """
        presets = {name: _value(name, text, tool) for name, text in self._presets.items()}
        told = {**self._told, **({"presets": presets} if presets else {})}
        facts = {} if known is None or self._clear else known.overlay.as_json()
        kept = {name: value for name, value in facts.items() if name not in self._unset}
        joined = {name: _joined(kept.get(name), value) for name, value in told.items()}
        return Overlay.read({**kept, **joined})


def _joined(old: Json, new: Json) -> Json:
    """Presets, hidden arguments and examples join those there are; the rest is replaced."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **new}
    if isinstance(old, list) and isinstance(new, list):
        return [*old, *(item for item in new if item not in old)]
    return new


async def _lay(crib: Crib, ref: str, wish: _Wish) -> JsonObject:
    before = crib.catalogue.snapshot
    tool = known_tool(before, ref)
    now = crib.clock.now().isoformat()

    def decide(snapshot: Snapshot) -> list[Change]:
        nonlocal before
        before = snapshot
        return put_overlay(snapshot, tool, _wanted(snapshot, tool, wish), now)

    after = await crib.catalogue.change(decide)
    laid = after.overlays.get(tool)
    return {
        "tool": str(tool),
        "overlay": laid.overlay.as_json() if laid else {},
        "version": _version(after.tools[tool]),
        "before": _version(before.tools[tool]),
        "outcome": _outcome(before, after, tool),
    }


def _wanted(snapshot: Snapshot, tool: ToolId, wish: _Wish) -> Overlay:
    return wish.on(snapshot.overlays.get(tool), snapshot.tools[tool])


def known_tool(snapshot: Snapshot, ref: str) -> ToolId:
    """The tool that `ref` means, hidden or not.

    Raises:
        ToolError: `unknown_tool`, or `invalid_settings` if `ref` asks for one version.
    """
    reference = snapshot.identify(ref)
    if reference.tool not in snapshot.tools:
        raise snapshot.unknown(ref)
    if reference.range != VersionRange():
        raise ToolError(
            INVALID_SETTINGS, f"an overlay is for all versions; write {str(reference.tool)!r}"
        )
    return reference.tool


def _outcome(before: Snapshot, after: Snapshot, tool: ToolId) -> str:
    if before.revision == after.revision:
        return "nothing to change"
    record = after.tools[tool]
    if record.is_hidden:
        return "hidden; `toolcrib overlay REF --show` offers it again"
    version, old = _version(record), _version(before.tools[tool])
    if version is None:
        return "kept until a source offers it"
    return f"version {version}" + (f" (it was {old})" if old != version else "")


def _version(tool: ToolRecord) -> str | None:
    live = tool.head_version is not None and tool.is_live(tool.head_version)
    return str(tool.head_version) if live else None


def _row(snapshot: Snapshot, record: OverlayRecord) -> JsonObject:
    return {
        "tool": str(record.tool),
        "state": overlay_state(snapshot, record),
        "overlay": record.overlay.as_json(),
    }


def overlay_state(snapshot: Snapshot, record: OverlayRecord) -> str:
    """What became of an overlay, in a few words."""
    tool = snapshot.tools.get(record.tool)
    version = None if tool is None else _version(tool)
    if tool is None or version is None:
        held = next(iter(_misfits(tool)), None)
        return f"held: {held}" if held else "waits until a source offers the tool"
    if tool.is_hidden:
        return "hidden"
    left_out = tool.head.left_out if tool.head else ()
    return f"version {version}" + "".join(f"; left out: {sentence}" for sentence in left_out)


def _misfits(tool: ToolRecord | None) -> Iterable[str]:
    statuses = tool.statuses.values() if tool else ()
    return (status.reason for status in statuses if is_misfit(status))


def _example(text: str) -> Json:
    return _json(text, "--example") if text.lstrip().startswith("{") else {"request": text}


def _json(text: str, option: str) -> Json:
    try:
        return parse_json(text)
    except ToolError as error:
        raise typer.BadParameter(error.message, param_hint=option) from error


def _key(text: str) -> Json:
    place, name = _two(text, ":", "PLACE:NAME", "--idempotency-key")
    return {"place": place, "name": name}


def _error(text: str) -> Json:
    code, kind = _two(text, "=", "CODE=KIND", "--error")
    return {"code": code, "kind": kind}


def _batch(text: str) -> Json:
    tool, argument = _two(text, ":", "TOOL:ARGUMENT", "--batch")
    return {"tool": tool, "items_argument": argument}


def _two(text: str, mark: str, form: str, option: str) -> tuple[str, str]:
    first, _, second = text.partition(mark)
    if not first or not second:
        raise typer.BadParameter(f"{text!r} is not {form}", param_hint=option)
    return first, second


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--preset")
    return name, value


def _value(name: str, text: str, tool: ToolRecord) -> Json:
    """A preset as it was meant: an account number is text if the argument is."""
    offered = newest_offered(tool)
    arguments = offered.offered.input_schema.get("properties") if offered else None
    argument = arguments.get(name) if isinstance(arguments, dict) else None
    if isinstance(argument, dict) and argument.get("type") == "string":
        return text
    try:
        return parse_json(text)
    except ToolError:
        return text
