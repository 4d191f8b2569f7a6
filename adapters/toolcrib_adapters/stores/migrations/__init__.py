"""The history of the database schema, run by Alembic (see `sql/schema_version.py`)."""

from typing import Final

CURRENT: Final = "0008"
"""The newest step in `versions`; a test keeps the two equal."""
