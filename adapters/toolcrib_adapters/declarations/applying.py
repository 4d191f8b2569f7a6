"""Applies a `crib.toml` to a catalogue: read and checked first, then one commit or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import to_thread

from toolcrib_adapters.declarations.reading import read_crib_file
from toolcrib_registry.declaring import DeclarationError, declare

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from toolcrib_adapters.declarations.reading import DeclaredCrib
    from toolcrib_registry.catalogue import Catalogue
    from toolcrib_registry.changes import Change
    from toolcrib_registry.declaring import Decision
    from toolcrib_registry.ports import Clock
    from toolcrib_registry.snapshot import Snapshot


async def read_declared(file: Path) -> DeclaredCrib:
    """What the file says, read beside the event loop.

    Raises:
        ToolError: `invalid_settings`, with file, line and key.
    """
    return await to_thread.run_sync(read_crib_file, file)


async def apply(
    catalogue: Catalogue, declared: DeclaredCrib, clock: Clock, *, prune: bool = False
) -> Decision:
    """Make the catalogue what the file says.

    Returns:
        What was changed.

    Raises:
        ToolError: a part that cannot be, with file, line and key; nothing was changed then.
    """
    decided: Decision | None = None

    def decide(snapshot: Snapshot) -> Sequence[Change]:
        nonlocal decided
        decided = decision(snapshot, declared, clock, prune=prune)
        return decided.changes

    await catalogue.change(decide)
    # `change` has called `decide`, or raised what it raised.
    return decided or decision(catalogue.snapshot, declared, clock)


def decision(
    snapshot: Snapshot, declared: DeclaredCrib, clock: Clock, *, prune: bool = False
) -> Decision:
    """What applying the file would change.

    Raises:
        ToolError: a part that cannot be, with file, line and key.
    """
    try:
        return declare(snapshot, declared.declaration, clock.now().isoformat(), prune=prune)
    except DeclarationError as error:
        raise declared.located(error) from error
