"""Limits of calls: gates, what is learned about sources, what processes share, batches."""

from toolcrib_registry.limits.board import LimitBoard
from toolcrib_registry.limits.gate_state import GateState
from toolcrib_registry.limits.gates import Gates
from toolcrib_registry.limits.leases import Leases
from toolcrib_registry.limits.memory_limits import MemoryLimits
from toolcrib_registry.limits.suggestion import suggested

__all__ = ["GateState", "Gates", "Leases", "LimitBoard", "MemoryLimits", "suggested"]
