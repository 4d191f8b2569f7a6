"""The catalogue in a SQL database; the only package that imports SQLAlchemy and Alembic."""

from toolcrib_adapters.stores.sql.sql_store import SqlStore, open_store

__all__ = ["SqlStore", "open_store"]
