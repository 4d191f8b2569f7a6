"""The history of the database schema, run by Alembic (see `sql/schema_version.py`)."""
