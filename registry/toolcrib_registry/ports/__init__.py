"""What the registry needs from the outside world, as Protocols; adapters fill them, a file each.

The memory implementations that tests use (`memory_store.py`, `hand_clock.py`) are real and shipped.
"""

from toolcrib_registry.ports.call_records import (
    CallQuery,
    CallRecord,
    CallRecordStore,
    Capture,
)
from toolcrib_registry.ports.calls import (
    CallContext,
    CallLog,
    CallObserver,
    Notices,
    Progress,
    Provider,
    Providers,
)
from toolcrib_registry.ports.catalogue import (
    FAILURES,
    CatalogueStore,
    ChangeFeed,
    CribStore,
    RevisionConflict,
    SourceState,
    SourceStates,
    SourceStatus,
)
from toolcrib_registry.ports.clock import (
    Clock,
)
from toolcrib_registry.ports.handles import (
    HandleRecord,
    HandleStore,
    KeptSize,
)
from toolcrib_registry.ports.ledger import (
    EntryState,
    LedgerEntry,
    LedgerStore,
    Owners,
)
from toolcrib_registry.ports.limits import (
    Grant,
    LimitStore,
    Wish,
)
from toolcrib_registry.ports.sealing import (
    Sealer,
)
from toolcrib_registry.ports.search import (
    Encoder,
    IndexStore,
    KeywordIndex,
    StoredIndex,
    VectorCache,
    VectorIndex,
)

__all__ = [
    "FAILURES",
    "CallContext",
    "CallLog",
    "CallObserver",
    "CallQuery",
    "CallRecord",
    "CallRecordStore",
    "Capture",
    "CatalogueStore",
    "ChangeFeed",
    "Clock",
    "CribStore",
    "Encoder",
    "EntryState",
    "Grant",
    "HandleRecord",
    "HandleStore",
    "IndexStore",
    "KeptSize",
    "KeywordIndex",
    "LedgerEntry",
    "LedgerStore",
    "LimitStore",
    "Notices",
    "Owners",
    "Progress",
    "Provider",
    "Providers",
    "RevisionConflict",
    "Sealer",
    "SourceState",
    "SourceStates",
    "SourceStatus",
    "StoredIndex",
    "VectorCache",
    "VectorIndex",
    "Wish",
]
