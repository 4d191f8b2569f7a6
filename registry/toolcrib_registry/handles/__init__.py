"""Results that are too large to deliver: kept under a handle, read piece by piece, passed on.

`keeping.py` is the stage at the end of the path of a call, `reading.py` what `read_result` and
`toolcrib read` ask, `vault.py` the sealed store under both.
"""

from toolcrib_registry.handles.keeping import HANDLE_META, KeptResults
from toolcrib_registry.handles.reading import READ_META, HandleReader, Reading, ReadWish
from toolcrib_registry.handles.vault import DEFAULT_CEILINGS, Ceilings, Vault

__all__ = [
    "DEFAULT_CEILINGS",
    "HANDLE_META",
    "READ_META",
    "Ceilings",
    "HandleReader",
    "KeptResults",
    "ReadWish",
    "Reading",
    "Vault",
]
