"""Rules for calls that are kept and cannot be read: by a fault of the disk, or a newer release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_adapters.doctor.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_registry.snapshot import Snapshot


def rule_findings(snapshot: Snapshot) -> Iterator[Finding]:
    """The scopes whose rules are not what the operator set."""
    for scope, record in sorted(snapshot.rules.items()):
        if record.unreadable:
            yield Finding(
                "rules",
                Severity.PROBLEM,
                f"the rules of {scope} cannot be read, careful ones hold: {record.unreadable}",
                f"toolcrib rules drop {scope}, then set them anew; or install the newer toolcrib "
                "that set them",
                str(scope),
            )
