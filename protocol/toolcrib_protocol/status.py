"""Where a version of a contract is in its life. Which moves are allowed, the registry decides."""

from __future__ import annotations

from typing import Final, Literal

VersionStatus = Literal["draft", "active", "deprecated", "retired", "yanked", "held"]
"""The life of a version. Only `active` and `deprecated` versions may be called."""
CALLABLE: Final[frozenset[VersionStatus]] = frozenset({"active", "deprecated"})
