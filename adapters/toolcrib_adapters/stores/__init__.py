"""Where the catalogue is kept: one package a technology."""

from typing import Final

SQLITE_FILE: Final = "crib.db"
"""The database in the home folder, where the settings name no other."""
