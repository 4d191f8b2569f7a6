"""JSON Schemas of tools: checks, canonical form, model-safe form, examples, signatures."""

from toolcrib_protocol.schema.bounds import DEFAULT_BOUNDS, SchemaBounds, bounds_problem
from toolcrib_protocol.schema.canonical import canonical_json, fingerprint
from toolcrib_protocol.schema.checker import Checker
from toolcrib_protocol.schema.dialects import Dialect, declared_dialect
from toolcrib_protocol.schema.publishing import PublishedSchema, publish
from toolcrib_protocol.schema.sample import sample
from toolcrib_protocol.schema.signature import signature
from toolcrib_protocol.schema.violation import UnknownArgument, Violation, explain

__all__ = [
    "DEFAULT_BOUNDS",
    "Checker",
    "Dialect",
    "PublishedSchema",
    "SchemaBounds",
    "UnknownArgument",
    "Violation",
    "bounds_problem",
    "canonical_json",
    "declared_dialect",
    "explain",
    "fingerprint",
    "publish",
    "sample",
    "signature",
]
