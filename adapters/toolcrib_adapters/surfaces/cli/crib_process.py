"""The process of a crib that clients share: started by the first of them, ended with the last.

`python -m` this file is what `attach/link.py` starts. It says on a pipe when it listens, or why it
cannot; what it has to say later is in the log of its home.
"""

from __future__ import annotations

import logging
import os
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from toolcrib_adapters.settings import CribSettings
from toolcrib_adapters.surfaces.cli.failures import first_failure
from toolcrib_adapters.surfaces.cli.running_crib import open_ready
from toolcrib_adapters.surfaces.cli.shared_crib import listening, take_lock
from toolcrib_adapters.surfaces.stop_signals import stop_signals
from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.json_value import dump_json

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from toolcrib_protocol.json_value import JsonObject

_log = logging.getLogger(__name__)


async def run_shared(settings: CribSettings, ready: int) -> None:
    """Run the shared crib of a home until its last client goes or it is told to end.

    Args:
        settings: whose.
        ready: where one line is written once it listens, or another crib does.

    Raises:
        ToolError: it cannot start.
    """
    with ExitStack() as locks:
        if await take_lock(settings, locks) is not None:
            _tell(ready, {"ready": False})
            return
        async with (
            stop_signals() as stop,
            open_ready(settings) as ready_crib,
            listening(ready_crib, settings) as listener,
        ):
            _tell(ready, {"ready": True})
            await _until_one(stop.wait, listener.idle, listener.retire.wait)


async def _until_one(*ends: Callable[[], Awaitable[object]]) -> None:
    """Return when the first of `ends` does."""
    async with anyio.create_task_group() as tasks:

        async def wait(end: Callable[[], Awaitable[object]]) -> None:
            await end()
            tasks.cancel_scope.cancel()

        for end in ends:
            tasks.start_soon(wait, end)


def _tell(ready: int, outcome: JsonObject) -> None:
    # The client that asked may be gone already.
    with suppress(OSError):
        os.write(ready, dump_json(outcome).encode())
        os.close(ready)


def main() -> None:
    """The process of a shared crib: `HOME DESCRIPTOR` are its arguments."""
    home, ready = Path(sys.argv[1]), int(sys.argv[2])
    logging.basicConfig(
        level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    os.set_inheritable(ready, False)  # a source must not keep the client waiting
    try:
        anyio.run(run_shared, CribSettings.read(home), ready)
    except (ToolError, ExceptionGroup) as error:
        failure = first_failure(error)
        if failure is None:
            raise
        _log.error("%s", failure.message)
        _tell(ready, {"error": failure.as_json()})
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
