"""Arguments that the operator sets: put into a call after the caller's own were checked.

What is sent is checked with the source's own schema, since the form that callers see admits more.
What the operator set is never told to the caller. Pure; used by the path of a call only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import INVALID_ARGUMENTS, ToolError
from toolcrib_protocol.json_pointer import steps

if TYPE_CHECKING:
    from toolcrib_registry.arguments import ReadyArguments
    from toolcrib_registry.checkers import Checkers
    from toolcrib_registry.records import VersionRecord


_MOST_TOLD: Final = 6


def with_presets(
    record: VersionRecord, ready: ReadyArguments, checkers: Checkers
) -> ReadyArguments:
    """The arguments to send: the caller's and the operator's.

    Raises:
        ToolError: `invalid_arguments` if the caller gives what the operator has set, or if both
            together do not fit the schema of the source.
    """
    underlay = record.underlay
    if underlay is None or not underlay.reserved:
        return ready
    given = sorted(set(underlay.reserved) & ready.values.keys())
    if given:
        raise _refusal(record, f"{given[0]!r} is set by the operator; leave it out")
    values = {**ready.values, **underlay.presets}
    violations = checkers.under(underlay).check(values)
    if not violations:
        return replace(ready, values=values)
    own = [v for v in violations if set(underlay.reserved).isdisjoint(steps(v.pointer)[:1])]
    # What was received stays untold: at the root it holds the operator's values.
    told = [f"at {v.pointer or 'the root'}: expected {v.expected}" for v in own[:_MOST_TOLD]]
    raise _refusal(record, "; ".join(told) or "they do not go with what the operator has set")


def _refusal(record: VersionRecord, text: str) -> ToolError:
    name = str(record.contract.id)
    return ToolError(
        INVALID_ARGUMENTS, f"the arguments do not fit {name!r}; nothing was called. {text}"
    )
