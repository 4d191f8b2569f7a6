"""A process of the tests: a crib that shares its limits through a database, and calls a tool.

    python -m tests.adapters.stores.limited_crib URL NAME RULE=VALUE CALLS SECONDS

Writes a line for each call that begins (`+`) or ends (`-`), with the time of the machine.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from tests.registry.limits.halls import gated
from toolcrib_adapters.stores.sql.database import open_database
from toolcrib_adapters.stores.sql.schema_version import migrate
from toolcrib_adapters.stores.sql.sql_limits import SqlLimits
from toolcrib_protocol.json_value import parse_json
from toolcrib_protocol.result import Result
from toolcrib_registry.call import Call
from toolcrib_registry.limits import Leases

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.ports import CallContext

LEASE_SECONDS = 1.5


def say(sign: str) -> None:
    sys.stdout.write(f"{sign}{time.monotonic()}\n")
    sys.stdout.flush()


async def work(seconds: float, arguments: JsonObject, _context: CallContext) -> Result:
    say("+")
    await anyio.sleep(seconds)
    say("-")
    return Result(data=arguments, has_data=True)


async def main(*arguments: str) -> None:
    url, name, rule, number, seconds = arguments
    database = open_database(url, Path())
    migrate(database)
    leases = Leases(SqlLimits(database), name, lease_seconds=LEASE_SECONDS)
    key, _, value = rule.partition("=")
    rules: JsonObject = {key: parse_json(value), "burst": 1, "queue_length": 1000}
    calls, provider, _, _ = await gated(rules={"tool:desk/wait": rules}, leases=leases)
    provider.tools["wait"] = partial(work, float(seconds))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(leases.run)
        await calls.call_many([Call("desk/wait", timeout_seconds=100)] * int(number))
        tasks.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
