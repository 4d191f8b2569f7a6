"""Repair of arguments that a model got almost right. Pure; used by the path of a call."""

from toolcrib_registry.repair.argument_repair import Repaired, repair
from toolcrib_registry.repair.draft import ArgumentRepair
from toolcrib_registry.repair.rejection import after_rejection

__all__ = ["ArgumentRepair", "Repaired", "after_rejection", "repair"]
