"""The arguments of a call, made ready for the source or refused with a lesson.

The exact schema decides. What models get almost right is repaired (`repair`) as far as the operator
allows, and written down; arguments that are missing or null mean none. Pure; used by the path of a
call only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.call_rules import RepairMode
from toolcrib_protocol.errors import INVALID_ARGUMENTS, ToolError
from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.schema import Checker, explain, sample
from toolcrib_registry.repair import repair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.schema import UnknownArgument, Violation
    from toolcrib_registry.records import VersionRecord
    from toolcrib_registry.repair import ArgumentRepair, Repaired

_LONGEST_EXAMPLE: Final = 1_500


@dataclass(frozen=True, slots=True)
class ReadyArguments:
    """Arguments that the exact schema admits.

    Attributes:
        values: what is sent.
        unknown: names in them that the schema does not know.
        repairs: what was repaired.
    """

    values: JsonObject
    unknown: tuple[UnknownArgument, ...] = ()
    repairs: tuple[ArgumentRepair, ...] = ()


def ready_arguments(
    record: VersionRecord,
    checker: Checker,
    given: Json,
    *,
    refuses_unknown: bool,
    mode: RepairMode = RepairMode.REPAIR,
) -> ReadyArguments:
    """The arguments to send for `given`.

    Raises:
        ToolError: `invalid_arguments`, with pointer, expected, received, one valid example, and
            what would fit if that is near.
    """
    values: Json = {} if given is None else given
    violations: Sequence[Violation] = ()
    unknown: tuple[UnknownArgument, ...] = ()
    if isinstance(values, dict):
        violations, unknown = checker.check(values), checker.unknown_arguments(values)
        if not violations and not unknown:
            return ReadyArguments(values)
    mended = _mended(record, checker, values, mode, refuses_unknown=refuses_unknown)
    if mended is not None and _may_be_sent(record, mended, mode):
        left = checker.unknown_arguments(mended.values)
        return ReadyArguments(mended.values, left, mended.repairs)
    if isinstance(values, dict) and not violations and not refuses_unknown:
        return ReadyArguments(values, unknown)
    raise _refusal(record, values, (violations, unknown), mended)


def _mended(
    record: VersionRecord,
    checker: Checker,
    values: Json,
    mode: RepairMode,
    *,
    refuses_unknown: bool,
) -> Repaired | None:
    if mode is RepairMode.OFF:
        return None
    mended = repair(
        values,
        record.contract.input_schema,
        checker,
        names=(str(record.tool), record.tool.name, record.upstream_name),
        untouchable=record.reserved,
        refuses_unknown=refuses_unknown,
    )
    return mended if mended is not None and mended.repairs else None


def _may_be_sent(record: VersionRecord, mended: Repaired, mode: RepairMode) -> bool:
    """Whether repaired arguments go without anybody's word.

    Where a call may destroy something, and where the operator is strict, only what needed no guess.
    """
    behaviour = record.contract.behaviour
    is_careful = mode is RepairMode.STRICT or behaviour.destructive is True
    if mended.is_doubtful and behaviour.read_only is not True:
        return False
    return mended.is_certain or not is_careful


def _example(record: VersionRecord) -> JsonObject | None:
    """Arguments that fit: the author's own first example if it does, else a made-up one."""
    schema = record.contract.input_schema
    told = record.contract.examples[:1]
    if told and not Checker.compile(schema).check(told[0].arguments):
        return told[0].arguments
    return sample(schema)


def _refusal(
    record: VersionRecord,
    values: Json,
    faults: tuple[Sequence[Violation], Sequence[UnknownArgument]],
    mended: Repaired | None,
) -> ToolError:
    violations, unknown = faults
    details: JsonObject = {"violations": [violation.as_json() for violation in violations]}
    told = [explain(violations)] if violations else []
    if not isinstance(values, dict):
        told = [f"arguments must be an object, received {type(values).__name__}"]
    lesson = ""
    if mended is not None:
        details["proposal"] = mended.values
        lesson = f"\nIf this is what you mean, call again with {_written(mended.values)}"
    elif (example := _example(record)) is not None:
        details["example"] = example
        lesson = f"\nA valid call has arguments like {_written(example)}"
    return ToolError(
        INVALID_ARGUMENTS,
        f"the arguments do not fit {str(record.contract.id)!r}; nothing was called. "
        f"{'; '.join([*told, *map(str, unknown)])}{lesson}",
        details=details,
    )


def _written(arguments: JsonObject) -> str:
    written = dump_json(arguments)
    return written if len(written) <= _LONGEST_EXAMPLE else "those in the details of this error"
