"""The rules of inclusion, each for one keyword (or a few that belong together) of the right schema.

A rule looks at one form of the left schema and says what is missing for all of its values to meet
the keyword. Each has an id that reasons carry; a rule that is absent proves too much, and the test
of soundness notices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolcrib_protocol.compatibility.bound_rules import (
    item_count,
    length,
    lower_bound,
    multiple,
    property_count,
    upper_bound,
)
from toolcrib_protocol.compatibility.logic_rules import (
    choice,
    condition,
    exclusive_choice,
    kept_keyword,
    negation,
)
from toolcrib_protocol.compatibility.plain_rules import format_, pattern, type_, values
from toolcrib_protocol.compatibility.structure_rules import (
    additional,
    items,
    properties,
    required,
    unique,
)

if TYPE_CHECKING:
    from toolcrib_protocol.compatibility.inclusion import Rule

RULES: Final[dict[str, Rule]] = {
    "type": type_,
    "values": values,
    "lower-bound": lower_bound,
    "upper-bound": upper_bound,
    "multiple": multiple,
    "length": length,
    "item-count": item_count,
    "property-count": property_count,
    "pattern": pattern,
    "format": format_,
    "required": required,
    "properties": properties,
    "additional": additional,
    "items": items,
    "unique": unique,
    "choice": choice,
    "exclusive-choice": exclusive_choice,
    "not": negation,
    "condition": condition,
    "kept-keyword": kept_keyword,
}
