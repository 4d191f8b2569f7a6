"""What is particular to the memory store; `tests/adapters/stores` claims what all stores do."""

from __future__ import annotations

from tests.registry.samples import NOW, source, version
from toolcrib_registry.changes import PutSource
from toolcrib_registry.memory_store import MemoryStore
from toolcrib_registry.permissions import LOCAL_CALLER, AllowAll
from toolcrib_registry.ports import SourceState, SourceStatus


async def test_it_remembers_only_the_revisions_it_was_told_to() -> None:
    store = MemoryStore(remembered_revisions=2)
    for revision in range(5):
        await store.commit([PutSource(source(f"s{revision}"))], revision)

    feed = await store.changes_since(3)

    assert await store.changes_since(2) is None
    assert feed is not None
    assert feed.changes == (PutSource(source("s3")), PutSource(source("s4")))


async def test_the_older_report_of_a_source_does_not_hide_the_newer() -> None:
    store = MemoryStore()
    newer = SourceState(SourceStatus.READY, NOW)
    older = SourceState(SourceStatus.CONNECTING, "2025-01-01T00:00:00+00:00")
    await store.report("one", {"mail": newer})
    await store.report("two", {"mail": older})

    assert await store.reported() == {"mail": newer}


async def test_the_local_policy_allows_every_tool() -> None:
    assert AllowAll().allows(LOCAL_CALLER, version().tool)
