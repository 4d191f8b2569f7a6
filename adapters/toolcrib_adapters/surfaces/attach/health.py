"""The crib that runs, if one does: whether it answers, which version it is, what it left behind."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from toolcrib_adapters.doctor.finding import Finding, Severity
from toolcrib_adapters.surfaces.attach.greeting import Welcome, differing
from toolcrib_adapters.surfaces.attach.place import held, is_blocked
from toolcrib_protocol.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from toolcrib_adapters.surfaces.attach.place import Place


async def crib_findings(
    place: Place,
    ask: Callable[[], Awaitable[Welcome | None]],
    version: str,
    environment: Mapping[str, str],
) -> tuple[Welcome | None, list[Finding]]:
    """What the running crib says of itself, and what is wrong with it."""
    try:
        there = await ask()
    except ToolError as error:
        mend = f"kill {place.owner().get('pid', 'PID')}; clients start a new one"
        return None, [Finding("crib", Severity.PROBLEM, error.message, mend)]
    if there is None:
        return None, _left_behind(place)
    found = []
    if there.version != version:
        found.append(
            Finding(
                "version",
                Severity.WARNING,
                f"the running crib (process {there.pid}) is toolcrib {there.version}, this is "
                f"{version}",
                f"kill {there.pid}; clients go on with a new one",
                there.version,
            )
        )
    names = differing(there, environment)
    if names:
        found.append(
            Finding(
                "variables",
                Severity.WARNING,
                f"the running crib (process {there.pid}) has other values of {', '.join(names)} "
                "than this shell, and its sources use them",
                f"kill {there.pid}, and start the client with the right values first",
                [*names],
            )
        )
    return there, found


def _left_behind(place: Place) -> list[Finding]:
    socket = place.known_socket
    if is_blocked(place.socket):
        text = f"{place.socket} is no socket, so no crib can make its own there and serve"
        mend = f"mv {place.socket} {place.socket}.old"
        return [Finding("socket", Severity.PROBLEM, text, mend, str(place.socket))]
    if not socket.is_socket():
        return []
    with held(place.lock) as nobody_runs:
        if not nobody_runs:
            text = (
                f"a crib (process {place.owner().get('pid', '?')}) holds {place.lock} and does not "
                "listen; it may be starting or ending"
            )
            return [Finding("crib", Severity.WARNING, text, "wait a moment and look again")]
    return [
        Finding(
            "socket",
            Severity.WARNING,
            f"{socket} was left behind by a crib that was killed; the next one replaces it",
            f"rm {socket}",
            str(socket),
            partial(_remove_socket, place),
        )
    ]


async def _remove_socket(place: Place) -> None:
    with held(place.lock) as nobody_runs:
        if nobody_runs:
            place.known_socket.unlink(missing_ok=True)
