"""`_meta` keys by which callers and the crib talk about one call: its key, remembered answers.

What the crib puts into every answer is in `result.py`.
"""

from __future__ import annotations

from typing import Final

from toolcrib_protocol.result import META_PREFIX

KEY_META: Final = f"{META_PREFIX}idempotency_key"
"""Of a request: the caller's idempotency key. The HTTP header `Idempotency-Key` says it, too."""
FRESH_META: Final = f"{META_PREFIX}no_cache"
"""Of a request: true asks the source, even if an answer is remembered."""
REPLAYED_META: Final = f"{META_PREFIX}replayed"
"""Of an answer: `{"at": ...}`, when a call with the same key brought it."""
CACHED_META: Final = f"{META_PREFIX}cached"
"""Of an answer: `{"age_seconds": ...}`, since the source gave it."""
STATE_RESET_META: Final = f"{META_PREFIX}upstream_state_reset"
"""Of an answer: true, when what the source kept for its callers was lost before this call."""
REPEATED_META: Final = f"{META_PREFIX}repeated"
"""Of an answer: `{"times": ..., "age_seconds": ...}`, when the caller repeats itself."""
