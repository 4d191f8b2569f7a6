"""What every Python client is asked to do, and the report of it: one JSON object on stdout.

Plain standard library: it runs in the environment of the client, not in ours.
"""

from __future__ import annotations

import asyncio
import json
import sys
import traceback
from pathlib import Path
from typing import Any, Protocol

PREFIX = "stall__"
"""What toolcrib puts before the names of the server's tools, to keep sources apart."""
_SECONDS = 60
# Some clients read no more than a megabyte at once, and the text travels twice.
_KILOBYTES = 400


class Session(Protocol):
    """A connected client."""

    async def names(self) -> list[str]:
        """The names of the tools it lists."""
        ...

    async def call(
        self, name: str, arguments: dict[str, Any], told: list[float] | None = None
    ) -> tuple[str, bool]:
        """Text and whether it is an error; progress goes into `told`."""
        ...


class NotOffered(Exception):  # noqa: N818 - an answer, not a fault
    """The client has no way to do this."""


async def _list(session: Session, _folder: Path) -> None:
    names = await session.names()
    assert PREFIX + "echo" in names, names


async def _call(session: Session, _folder: Path) -> None:
    text, failed = await session.call(PREFIX + "echo", {"text": "grüße 🙂"})
    assert ("grüße 🙂" in text, failed) == (True, False), text


async def _error(session: Session, _folder: Path) -> None:
    text, failed = await session.call(PREFIX + "refuse", {"reason": "closed today"})
    assert ("closed today" in text, failed) == (True, True), text


async def _wrong_arguments(session: Session, _folder: Path) -> None:
    text, failed = await session.call(PREFIX + "count", {"to": "many"})
    assert ("/to" in text, failed) == (True, True), text


async def _cancel(session: Session, folder: Path) -> None:
    call = asyncio.create_task(session.call(PREFIX + "wait", {"folder": str(folder)}))
    await _appears(folder / "started", call)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    await _appears(folder / "cancelled")


async def _appears(path: Path, call: asyncio.Task[Any] | None = None) -> None:
    while not path.exists():
        assert call is None or not call.done(), call and call.result()
        await asyncio.sleep(0.02)


async def _progress(session: Session, _folder: Path) -> None:
    told: list[float] = []
    await session.call(PREFIX + "count", {"to": 5}, told)
    assert told == [1, 2, 3, 4, 5], told


async def _elicitation(session: Session, _folder: Path) -> None:
    text, failed = await session.call(PREFIX + "greet", {})
    assert ("Hello Ada" in text, failed) == (True, False), text


async def _big_result(session: Session, _folder: Path) -> None:
    text, failed = await session.call(PREFIX + "fill", {"kilobytes": _KILOBYTES})
    assert not failed, text[:200]
    assert text.count("0123456789abcde") >= 64 * _KILOBYTES, len(text)


CHECKS = {
    "list": _list,
    "call": _call,
    "error": _error,
    "wrong arguments": _wrong_arguments,
    "progress": _progress,
    "elicitation": _elicitation,
    "big result": _big_result,
    # Last, since some clients do not survive it.
    "cancel": _cancel,
}


async def report(session: Session) -> None:
    """Run every check and print what became of it: `ok`, `not offered`, or the reason."""
    folder = Path(sys.argv[2])
    outcomes = {}
    for name, check in CHECKS.items():
        try:
            await asyncio.wait_for(check(session, folder), _SECONDS)
            outcomes[name] = "ok"
        except NotOffered:
            outcomes[name] = "not offered"
        except Exception as error:  # noqa: BLE001 - any failure of a foreign client is an outcome
            traceback.print_exc()
            outcomes[name] = f"{type(error).__name__}: {error}"[:400] or "failed"
    print(json.dumps(outcomes), flush=True)
