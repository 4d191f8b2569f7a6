"""Whether a URI may have been made from a URI template. Pure, and linear in both lengths.

For finding out whose resource is asked for: the source itself has the last word, so the literal
parts of the template have to occur in order, and what stands between them may be anything.
"""

from __future__ import annotations

import re
from typing import Final

_EXPRESSION: Final = re.compile(r"\{[^{}]*\}")


def may_come_from(uri: str, template: str) -> bool:
    """Whether `uri` has the literal parts of `template`, in order, from start to end."""
    first, *rest = _EXPRESSION.split(template)
    if not rest:
        return uri == template
    *between, last = rest
    if not uri.startswith(first) or not uri.endswith(last):
        return False
    position, end = len(first), len(uri) - len(last)
    for part in between:
        found = uri.find(part, position, end)
        if found < 0:
            return False
        position = found + len(part)
    return position <= end
