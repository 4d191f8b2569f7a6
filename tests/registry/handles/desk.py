"""A small crib that keeps large results: two sources, a hand-driven clock, a real sealer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.registry.cribs import listed, memory_catalogue, raw_tool
from tests.registry.providers import MemoryProvider, MemoryProviders
from toolcrib_adapters.sealing import RingSealer
from toolcrib_protocol.content import text_block
from toolcrib_protocol.result import Result
from toolcrib_registry.call import Call
from toolcrib_registry.calls import Calls
from toolcrib_registry.checkers import Checkers
from toolcrib_registry.hand_clock import HandClock
from toolcrib_registry.handles import (
    DEFAULT_CEILINGS,
    HANDLE_META,
    HandleReader,
    KeptResults,
    ReadWish,
    Vault,
)
from toolcrib_registry.memory_handles import MemoryHandles
from toolcrib_registry.permissions import LOCAL_CALLER, AllowAll, Caller
from toolcrib_registry.stages import Path

if TYPE_CHECKING:
    from pathlib import Path as FilePath

    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.handles import Ceilings
    from toolcrib_registry.permissions import Policy
    from toolcrib_registry.ports import CallContext, HandleStore

ROWS: list[Json] = [
    {"id": n, "name": f"row {n}", "price": n / 2, "tags": ["a", "b"]} for n in range(5_000)
]
SHAPE: JsonObject = {
    "outputSchema": {"type": "object", "properties": {"rows": {"type": "array"}}},
}


@dataclass
class Desk:
    """The crib, and what a test looks at."""

    calls: Calls
    mail: MemoryProvider
    web: MemoryProvider
    catalogue: Catalogue
    store: HandleStore
    clock: HandClock
    vault: Vault

    def answers(self, tool: str, result: Result) -> None:
        """Let a tool of `mail` answer this."""

        async def answer(_arguments: JsonObject, _context: CallContext) -> Result:
            return result

        self.mail.tools[tool] = answer

    async def call(self, tool: str = "mail/list", arguments: Json = None) -> Result:
        """Call a tool as an agent does."""
        return await self.calls.call(Call(tool, arguments))

    async def handle(self, result: Result) -> str:
        """The handle under which a result was kept."""
        self.answers("list", result)
        return handle_of(await self.call())

    async def read(
        self,
        handle: str,
        path: str | None = None,
        filter: str | None = None,  # noqa: A002
        range: tuple[int, int] | None = None,  # noqa: A002
        caller: Caller = LOCAL_CALLER,
        *,
        takes_whole: bool = False,
    ) -> Result:
        """Read on, as `read_result` does."""
        call = Call("read_result", caller=caller, takes_whole=takes_whole)
        return await self.calls.read(ReadWish(handle, path, filter, range), call)


async def keeping_desk(
    folder: FilePath,
    *,
    store: HandleStore | None = None,
    policy: Policy | None = None,
    ceilings: Ceilings = DEFAULT_CEILINGS,
) -> Desk:
    """A crib with `mail/list`, `mail/shaped`, `mail/send` and `web/post`."""
    catalogue = await memory_catalogue()
    anything: JsonObject = {"body": {}, "to": {"type": "string"}, "n": {"type": "integer"}}
    tools = (raw_tool("list"), raw_tool("shaped", more=SHAPE), raw_tool("send", anything))
    await listed(catalogue, "mail", *tools)
    await listed(catalogue, "web", raw_tool("post", anything))
    mail, web, clock = MemoryProvider(), MemoryProvider(), HandClock()
    store = store or MemoryHandles()
    vault = Vault(store, RingSealer(folder / "keys.json", clock), clock, ceilings=ceilings)
    policy = policy or AllowAll()
    reader = HandleReader(vault, catalogue, policy=policy)
    kept = KeptResults(vault, reader, catalogue, Checkers())
    providers = MemoryProviders({"mail": mail, "web": web})
    calls = Calls(catalogue, providers, policy=policy, path=Path(kept=kept))
    return Desk(calls, mail, web, catalogue, store, clock, vault)


def structured(data: Json, *blocks: JsonObject) -> Result:
    """A result with structured content."""
    return Result(data=data, has_data=True, content=blocks)


def plain(text: str) -> Result:
    """A result of one text block."""
    return Result(content=(text_block(text),))


def handle_of(result: Result) -> str:
    """The handle that a result tells."""
    facts = result.meta[HANDLE_META]
    assert isinstance(facts, dict)
    return str(facts["handle"])
