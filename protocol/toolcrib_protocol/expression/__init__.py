"""The expression language: how data is selected in plans, templates and handles.

One small language over JSON values: a subset of Python's expressions, walked by ourselves, bounded
in every direction, with a fixed list of functions. It has no names but those it is given, no
methods, and nothing of it is ever run as Python. Used by plans, handles and shims.
"""

from toolcrib_protocol.expression.evaluation import Scope, evaluate, select
from toolcrib_protocol.expression.faults import MissingValueError, unknown_name
from toolcrib_protocol.expression.limits import PLAN_LIMITS, Limits, Meter
from toolcrib_protocol.expression.parsing import PLAN_NAMES, Expression, parse_expression
from toolcrib_protocol.expression.reads import Path, Read, plain_path, reads_of
from toolcrib_protocol.expression.template import (
    Template,
    mustaches,
    parse_field,
    parse_template,
)

__all__ = [
    "PLAN_LIMITS",
    "PLAN_NAMES",
    "Expression",
    "Limits",
    "Meter",
    "MissingValueError",
    "Path",
    "Read",
    "Scope",
    "Template",
    "evaluate",
    "mustaches",
    "parse_expression",
    "parse_field",
    "parse_template",
    "plain_path",
    "reads_of",
    "select",
    "unknown_name",
]
