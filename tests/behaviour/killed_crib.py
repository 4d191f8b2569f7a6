"""A crib that is going to be killed: `killed_crib.py HOME DEATHS [guardian]`.

It calls the source `up`, lets its server die so often, and then says which process that is now.
With `guardian` it ends its guardian, so that nobody ends the rest when it is killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import anyio

from toolcrib_adapters.main import Crib, open_crib
from toolcrib_adapters.settings import CribSettings
from toolcrib_adapters.sources.mcp_upstream import McpUpstream
from toolcrib_registry.call import Call


def source_of(crib: Crib) -> McpUpstream:
    source = crib.supervisor.provider("up")
    assert isinstance(source, McpUpstream)
    return source


async def answer(crib: Crib) -> dict[str, Any]:
    """What the server says, as soon as it is there, without the pause of the back-off."""
    while True:
        with anyio.move_on_after(0.2):
            data = (await crib.calls.call(Call("up/environment", {}))).data
            if isinstance(data, dict):
                return data
        await source_of(crib).look_again()


async def main(home: Path, deaths: int, *, is_alone: bool) -> None:
    async with open_crib(CribSettings(home=home, encoder="none")) as crib:
        await crib.supervisor.settled("up")
        data = await answer(crib)
        for _ in range(deaths):
            await crib.calls.call(Call("up/die", {}))
            data = await answer(crib)
        if is_alone:
            household = source_of(crib)._access.household
            guardian = household._guardian.pid or 0
            os.kill(guardian, signal.SIGKILL)
        sys.stdout.write(json.dumps({"server": data["pid"]}) + "\n")
        sys.stdout.flush()
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(lambda: main(Path(sys.argv[1]), int(sys.argv[2]), is_alone="guardian" in sys.argv))
