"""Python functions, snapshots and contract files through supervisor, catalogue and calls."""

from __future__ import annotations

import json
import os
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.sources.python_functions.source import PythonFunctions
from toolcrib_adapters.sources.snapshots import SnapshotSource
from toolcrib_adapters.sources.supervisor import Supervisor
from toolcrib_protocol.errors import (
    INVALID_ARGUMENTS,
    NOT_CALLABLE,
    OUTCOME_UNKNOWN,
    TOOL_CRASHED,
    TOOL_TIMED_OUT,
    ErrorKind,
)
from toolcrib_protocol.names import ToolId
from toolcrib_registry.call import Call
from toolcrib_registry.calls import Calls
from toolcrib_registry.catalogue import Catalogue
from toolcrib_registry.memory_store import MemoryStore
from toolcrib_registry.ports import SourceStatus
from toolcrib_registry.publishing import register
from toolcrib_registry.records import SourceKind, SourceRecord

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.result import Result

EXAMPLES = Path(__file__).parents[2] / "examples"


class Crib:
    def __init__(self, catalogue: Catalogue, supervisor: Supervisor) -> None:
        self.catalogue = catalogue
        self.supervisor = supervisor
        self.calls = Calls(catalogue, supervisor)

    async def add(self, name: str, kind: SourceKind, **spec: Json) -> None:
        await register(self.catalogue, SourceRecord(name, kind, spec, name))
        with anyio.fail_after(30):
            while (state := await self.supervisor.settled(name)) is None:
                await anyio.lowlevel.checkpoint()
        assert state.status is SourceStatus.READY, state.reason

    async def call(self, tool: str, limit: float | None = None, **arguments: Json) -> Result:
        return await self.calls.call(Call(tool, arguments, timeout_seconds=limit))


@asynccontextmanager
async def crib() -> AsyncIterator[Crib]:
    clock, store = SystemClock(), MemoryStore()
    supervisor = Supervisor(
        {
            SourceKind.PYTHON: lambda record: PythonFunctions(
                record, environment=os.environ, clock=clock
            ),
            SourceKind.SNAPSHOT: lambda record: SnapshotSource(record, clock=clock),
        },
        store,
        clock,
        crib="test",
    )
    catalogue = await Catalogue.open(store, (supervisor,))
    async with anyio.create_task_group() as tasks:
        await tasks.start(supervisor.run, catalogue)
        yield Crib(catalogue, supervisor)
        tasks.cancel_scope.cancel()


@pytest.mark.promise("python-function-contract")
async def test_the_functions_of_the_example_are_found_checked_and_called() -> None:
    async with crib() as running:
        await running.add(
            "stock-room", SourceKind.PYTHON, target=str(EXAMPLES / "tools" / "stock_room.py")
        )
        tools = running.catalogue.snapshot.tools
        assert {tool.id.name for tool in tools.values()} == {
            "find_parts",
            "check_stock",
            "convert_length",
            "remind_me",
        }
        assert str(tools[ToolId("stock-room", "check_stock")].head_version) == "1.1.0"
        parts = await running.call("stock-room/find_parts", text="screw", limit=None)
        assert parts.unwrap() == {
            "result": [
                {"number": "M4-20", "name": "hex screw M4 x 20 mm", "in_stock": 310},
                {"number": "M6-40", "name": "hex screw M6 x 40 mm", "in_stock": 85},
            ]
        }
        converted = await running.call("stock-room__convert_length", value=1, unit="in", to="mm")
        assert converted.unwrap() == {"result": 25.4}
        reminder = await running.call("stock-room/remind_me", text="tea", seconds=0)
        assert reminder.text == "Reminder: tea"
        missing = await running.call("stock-room/check_stock", number="M9", count=1)
        assert missing.error is not None
        assert missing.error.code == "LookupError"
        assert "there is no part 'M9'" in missing.error.message
        refused = await running.call("stock-room/convert_length", value=1, unit="mile", to="m")
        assert refused.error is not None
        assert refused.error.code == INVALID_ARGUMENTS


@pytest.mark.promise("python-outcome-honest")
@pytest.mark.parametrize(
    ("tool", "code", "kind"),
    [
        ("read_forever", TOOL_TIMED_OUT, ErrorKind.RETRYABLE),
        ("write_forever", OUTCOME_UNKNOWN, ErrorKind.NEEDS_HUMAN),
        ("read_and_crash", TOOL_CRASHED, ErrorKind.RETRYABLE),
        ("write_and_crash", OUTCOME_UNKNOWN, ErrorKind.NEEDS_HUMAN),
    ],
)
async def test_a_stopped_or_crashed_call_is_repeatable_only_where_that_is_harmless(
    tmp_path: Path, tool: str, code: str, kind: ErrorKind
) -> None:
    file = tmp_path / "functions.py"
    file.write_text(
        "import os\n"
        "from toolcrib_client import tool\n"
        "def forever():\n    while True: pass\n"
        "@tool(read_only=True)\ndef read_forever() -> None: forever()\n"
        "@tool\ndef write_forever() -> None: forever()\n"
        "@tool(read_only=True)\ndef read_and_crash() -> None: os._exit(1)\n"
        "@tool\ndef write_and_crash() -> None: os._exit(1)\n"
    )
    async with crib() as running:
        await running.add("risky", SourceKind.PYTHON, target=str(file))
        limit = 0.5 if tool.endswith("forever") else 30
        error = (await running.call(f"risky/{tool}", limit)).error
        assert error is not None
        assert (error.code, error.kind) == (code, kind)


@pytest.mark.promise("snapshot-refuses-calls")
async def test_the_contracts_of_the_example_are_catalogued_and_calls_are_refused() -> None:
    async with crib() as running:
        file = EXAMPLES / "contracts" / "stock_room.yaml"
        await running.add("planned", SourceKind.SNAPSHOT, path=str(file))
        snapshot = running.catalogue.snapshot
        assert snapshot.quarantined == {}
        reserve = snapshot.tools[ToolId("planned", "reserve_part")].head
        assert reserve is not None
        assert str(reserve.version) == "0.3.0"
        assert [error.code for error in reserve.contract.errors] == ["not_enough", "order_closed"]
        refused = await running.call("planned/release_part", reservation="R-1")
        assert refused.error is not None
        assert refused.error.code == NOT_CALLABLE
        assert str(file) in refused.text


@pytest.mark.promise("snapshot-forms")
async def test_every_form_of_a_stored_list_ends_as_the_same_tool(tmp_path: Path) -> None:
    schema: JsonObject = {"type": "object", "properties": {"city": {"type": "string"}}}
    named: JsonObject = {"name": "forecast", "description": "Weather of a city."}
    forms: list[Json] = [
        [{**named, "inputSchema": schema}],
        {"result": {"tools": [{**named, "inputSchema": schema}]}},
        [{"type": "function", "function": {**named, "parameters": schema}}],
        [{"type": "function", **named, "parameters": schema}],
        [{**named, "input_schema": schema}],
        [{"functionDeclarations": [{**named, "parametersJsonSchema": schema}]}],
        {"contracts": [{**named, "parameters": schema, "tags": []}]},
    ]
    fingerprints = set()
    async with crib() as running:
        for number, form in enumerate(forms):
            file = tmp_path / f"{number}.json"
            file.write_text(json.dumps(form))
            await running.add(f"sky-{number}", SourceKind.SNAPSHOT, path=str(file))
            head = running.catalogue.snapshot.tools[ToolId(f"sky-{number}", "forecast")].head
            assert head is not None
            contract = head.contract.model_copy(update={"group": "sky"})
            fingerprints.add(contract.fingerprint())
    assert len(fingerprints) == 1
