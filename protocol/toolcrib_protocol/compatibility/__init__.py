"""What changed between two contracts, and what that means to callers. Pure."""

from toolcrib_protocol.compatibility.change import Change, Level, Reason, Side
from toolcrib_protocol.compatibility.comparison import compare
from toolcrib_protocol.compatibility.rules import RULES

__all__ = ["RULES", "Change", "Level", "Reason", "Side", "compare"]
