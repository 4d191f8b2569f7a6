"""Declarative files (`crib.toml`): read, checked, laid out as a schema, and written."""
