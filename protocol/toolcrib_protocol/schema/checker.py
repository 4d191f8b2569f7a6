"""Checks values against the exact schema, with bounded work and without the network.

jsonschema-rs does the checking: it keeps integers exact, understands look-around, and its patterns
stop at a backtrack limit (`(x+x+)+y` against 40 characters: 0.2 ms; the plain Python library hung).
A pattern that hits the limit is a violation, never a silent pass. A checker is immutable and may be
shared between threads.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

import jsonschema_rs

from toolcrib_protocol.errors import INVALID_CONTRACT, ToolError
from toolcrib_protocol.json_pointer import pointer
from toolcrib_protocol.json_value import dump_json
from toolcrib_protocol.schema.bounds import DEFAULT_BOUNDS, SchemaBounds, bounds_problem
from toolcrib_protocol.schema.dialects import DEFINITIONS, Dialect, candidates
from toolcrib_protocol.schema.extent import extent
from toolcrib_protocol.schema.known_names import KnownNames
from toolcrib_protocol.schema.references import Document, hidden_targets
from toolcrib_protocol.schema.violation import UnknownArgument, Violation
from toolcrib_protocol.schema.workload import Workload

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.schema.extent import Extent

_VALIDATORS: Final = {
    Dialect.D2020_12: jsonschema_rs.Draft202012Validator,
    Dialect.D2019_09: jsonschema_rs.Draft201909Validator,
    Dialect.D7: jsonschema_rs.Draft7Validator,
    Dialect.D6: jsonschema_rs.Draft6Validator,
    Dialect.D4: jsonschema_rs.Draft4Validator,
}
_PATTERNS: Final = jsonschema_rs.FancyRegexOptions(
    backtrack_limit=50_000, size_limit=1_000_000, dfa_size_limit=1_000_000
)
DEEPEST_VALUE: Final = 128
"""The deepest value that is checked, in levels; deeper ones could overflow the stack."""
_MOST_TOTAL_WORK: Final = 20_000_000
"""How much work one check may be (schema nodes on a path, times values): about half a second."""
_MOST_FAULT_WORK: Final = 10_000
"""The same for telling faults, where each visited node can cost a made-up error object."""
_MOST_VIOLATIONS: Final = 20
_MOST_SHOWN: Final = 80
_MOST_TEXT: Final = 300
_MASK: Final = "the value"
_NO_PLACE: Final = "a value that fits the schema, which allows too many forms to say where it fails"


class Checker:
    """A compiled schema."""

    __slots__ = ("_most_work", "_names", "_schema", "_validator", "dialect")

    def __init__(
        self,
        schema: JsonObject,
        validator: jsonschema_rs.Validator,
        dialect: Dialect,
        most_work: int,
    ) -> None:
        self._schema = schema
        self._validator = validator
        self._names = KnownNames.of(schema)
        self._most_work = most_work
        self.dialect = dialect

    @classmethod
    def compile(cls, schema: JsonObject, bounds: SchemaBounds = DEFAULT_BOUNDS) -> Checker:
        """The checker of `schema`, in the first dialect that accepts it.

        Raises:
            ToolError: `invalid_contract`: over the bounds, or no dialect accepts it, or it refers
                to something outside itself or to nothing, or checking it could take for ever.
        """
        problem = bounds_problem(schema, bounds)
        if problem is not None:
            raise ToolError(INVALID_CONTRACT, problem)
        most_work = Workload.of(schema).most
        hidden: JsonObject = {
            f"target {number}": target
            for number, target in enumerate(hidden_targets(Document(schema)))
        }
        reason = ""
        for dialect in candidates(schema):
            try:
                validator = _VALIDATORS[dialect](
                    _compilable(schema, hidden, DEFINITIONS[dialect]),
                    pattern_options=_PATTERNS,
                    offline=True,
                    mask=_MASK,
                )
            except jsonschema_rs.ValidationError as error:
                where = pointer(error.instance_path)
                reason = reason or f"{error.message[:_MOST_TEXT]} (at {where})"
            except (jsonschema_rs.ReferencingError, ValueError) as error:
                reason = reason or str(error)[:_MOST_TEXT]
            else:
                return cls(schema, validator, dialect, most_work)
        raise ToolError(INVALID_CONTRACT, f"not a valid JSON Schema: {reason}")

    def check(self, value: Json) -> tuple[Violation, ...]:
        """What is wrong with `value`; empty if it fits."""
        size = extent(value, DEEPEST_VALUE)
        if size.depth > DEEPEST_VALUE:
            return (Violation("", f"at most {DEEPEST_VALUE} levels", "a deeper value"),)
        if size.values * self._most_work > _MOST_TOTAL_WORK:
            return (Violation("", "a value small enough to check", f"{size.values:,} values"),)
        try:
            if self._validator.is_valid(value):
                return ()
            return self._faults(value, size)
        except ValueError as error:
            # Lone surrogates and Python values that are not JSON.
            return (Violation("", "a JSON value", str(error)[:_MOST_TEXT]),)

    def _faults(self, value: Json, size: Extent) -> tuple[Violation, ...]:
        """The faults of an invalid value, as many as can be told with bounded work.

        The library collects what each form of a choice lacks, for every value and without an end:
        a list of 10,000 records with twenty forms took it 2.4 s, nine levels of recursion 3.3 s.
        """
        work = Workload.of(self._schema).of_all_faults(size.depth)
        if work * size.values <= _MOST_FAULT_WORK:
            errors = islice(self._validator.iter_errors(value), _MOST_VIOLATIONS)
            return tuple(_violation(error) for error in errors)
        if work <= _MOST_FAULT_WORK:
            try:
                self._validator.validate(value)
            except jsonschema_rs.ValidationError as error:
                return (_violation(error),)
        return (Violation("", _NO_PLACE, _shown(value)),)

    def unknown_arguments(self, arguments: JsonObject) -> tuple[UnknownArgument, ...]:
        """Names in `arguments` that the schema neither describes nor opens itself for."""
        return tuple(islice(self._names.unknown_in(arguments), _MOST_VIOLATIONS))


def _compilable(schema: JsonObject, hidden: JsonObject, definitions: str) -> JsonObject:
    """`schema` without its dialect, which is tried out, and with all its parts in sight."""
    plain = {keyword: value for keyword, value in schema.items() if keyword != "$schema"}
    if hidden:
        known = plain.get(definitions)
        plain[definitions] = {**(known if isinstance(known, dict) else {}), **hidden}
    return plain


def _violation(error: jsonschema_rs.ValidationError) -> Violation:
    nearest = _nearest_branch(error)
    expected = _expected(error)
    if nearest is not None:
        expected += f" (nearest form: {nearest})"
    return Violation(pointer(error.instance_path), expected, _shown(error.instance))


def _expected(error: jsonschema_rs.ValidationError) -> str:
    kind = error.kind
    match kind:
        case jsonschema_rs.ValidationErrorKind.Type():
            return f"type {' or '.join(sorted(map(str, kind.types)))}"
        case jsonschema_rs.ValidationErrorKind.Required():
            return f"the required property {kind.property!r}"
        case jsonschema_rs.ValidationErrorKind.Enum():
            return f"one of {_shown(kind.options, 200)}"
        case jsonschema_rs.ValidationErrorKind.Constant():
            return f"exactly {_shown(kind.expected_value)}"
        case jsonschema_rs.ValidationErrorKind.AdditionalProperties():
            return f"no property {', '.join(map(repr, kind.unexpected[:10]))}"
        case jsonschema_rs.ValidationErrorKind.AnyOf():
            return "one of the allowed forms"
        case jsonschema_rs.ValidationErrorKind.FalseSchema():
            return "nothing beyond what the schema describes"
        case jsonschema_rs.ValidationErrorKind.BacktrackLimitExceeded():
            return "a value whose pattern can be checked within its limit"
        case _:
            return _expected_bound(error)


_BOUNDS: Final = {
    "Minimum": "at least {}",
    "Maximum": "at most {}",
    "ExclusiveMinimum": "more than {}",
    "ExclusiveMaximum": "less than {}",
    "MinLength": "at least {} characters",
    "MaxLength": "at most {} characters",
    "MinItems": "at least {} items",
    "MaxItems": "at most {} items",
    "MinProperties": "at least {} properties",
    "MaxProperties": "at most {} properties",
}


def _expected_bound(error: jsonschema_rs.ValidationError) -> str:
    kind = error.kind
    told = _BOUNDS.get(type(kind).__name__.removeprefix("ValidationErrorKind_"))
    if told is not None:
        return told.format(getattr(kind, "limit", "?"))
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.Pattern):
        return f"text that matches {kind.pattern[:_MOST_TEXT]}"
    return f"another value (it {error.message[:_MOST_TEXT].removeprefix(_MASK).strip()})"


def _nearest_branch(error: jsonschema_rs.ValidationError) -> str | None:
    """For a choice of forms: what the form that fits best still lacks."""
    context = getattr(error.kind, "context", None)
    branches = [branch for branch in context or () if branch]
    if not branches:
        return None
    best = min(branches, key=lambda branch: (len(branch), -len(branch[0].instance_path)))
    return f"{pointer(best[0].instance_path) or '/'} {_expected(best[0])}"


def _shown(value: object, most: int = _MOST_SHOWN) -> str:
    """A value as short JSON text, for messages."""
    try:
        text = dump_json(value)  # type: ignore[arg-type]  # whatever the library hands back is JSON
    except ToolError:
        text = type(value).__name__
    return text if len(text) <= most else f"{text[: most - 1]}…"
