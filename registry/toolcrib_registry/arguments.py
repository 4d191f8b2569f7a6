"""The arguments of a call, made ready for the source or refused with a lesson.

The exact schema decides. Two things models do with good intent are mended without guessing:
arguments that are missing or null mean none, and a null for an optional field that does not take
null means "not set". Pure; used by the path of a call only.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from toolcrib_protocol.errors import INVALID_ARGUMENTS, ToolError
from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.schema import Checker, explain, sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.schema import UnknownArgument, Violation
    from toolcrib_registry.records import VersionRecord

_LONGEST_EXAMPLE: Final = 1_500


@dataclass(frozen=True, slots=True)
class ReadyArguments:
    """Arguments that the exact schema admits, and names in them that the schema does not know."""

    values: JsonObject
    unknown: tuple[UnknownArgument, ...] = ()


def ready_arguments(
    record: VersionRecord, checker: Checker, given: Json, *, refuses_unknown: bool
) -> ReadyArguments:
    """The arguments to send for `given`.

    Raises:
        ToolError: `invalid_arguments`, with pointer, expected, received and one valid example.
    """
    values = _as_object(record, given)
    violations = checker.check(values)
    if violations:
        mended = _without_unset(values, violations)
        if mended is None or checker.check(mended):
            told = [explain(violations), *map(str, checker.unknown_arguments(values))]
            raise _refusal(record, "; ".join(told), violations)
        values = mended
    unknown = checker.unknown_arguments(values)
    if unknown and refuses_unknown:
        raise _refusal(record, "; ".join(map(str, unknown)), ())
    return ReadyArguments(values, unknown)


def _as_object(record: VersionRecord, given: Json) -> JsonObject:
    if given is None:
        return {}
    if not isinstance(given, dict):
        received = f"arguments must be an object, received {type(given).__name__}"
        raise _refusal(record, received, ())
    return given


def _without_unset(values: JsonObject, violations: Sequence[Violation]) -> JsonObject | None:
    """`values` without the nulls that were refused, or None if there are none."""
    pointers = [v.pointer for v in violations if _at(values, v.pointer) is None]
    if not pointers:
        return None
    mended = copy.deepcopy(values)
    for pointer in pointers:
        *path, last = _tokens(pointer)
        parent = _walk(mended, path)
        if isinstance(parent, dict) and parent.get(last, ...) is None:
            del parent[last]
    return mended


def _tokens(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _at(values: JsonObject, pointer: str) -> Json:
    """The value at `pointer`; the empty pointer and pointers into nothing give the whole."""
    tokens = _tokens(pointer)
    return _walk(values, tokens) if tokens else values


def _walk(value: Json, tokens: Iterable[str]) -> Json:
    """The value at a pointer that a checker gave, so it leads somewhere."""
    here = value
    for token in tokens:
        here = here[int(token)] if isinstance(here, list) else cast("JsonObject", here)[token]
    return here


def _example(record: VersionRecord) -> JsonObject | None:
    """Arguments that fit: the author's own first example if it does, else a made-up one."""
    schema = record.contract.input_schema
    told = record.contract.examples[:1]
    if told and not Checker.compile(schema).check(told[0].arguments):
        return told[0].arguments
    return sample(schema)


def _refusal(record: VersionRecord, text: str, violations: Sequence[Violation]) -> ToolError:
    name = record.contract.id
    details: JsonObject = {"violations": [violation.as_json() for violation in violations]}
    example = _example(record)
    lesson = ""
    if example is not None:
        details["example"] = example
        written = dump_json(example)
        if len(written) <= _LONGEST_EXAMPLE:
            lesson = f"\nA valid call has arguments like {written}"
    return ToolError(
        INVALID_ARGUMENTS,
        f"the arguments do not fit {str(name)!r}; nothing was called. {text}{lesson}",
        details=details,
    )
