"""The history of the database schema, run by Alembic (see `toolcrib_adapters.stores.sql.schema_version`)."""
