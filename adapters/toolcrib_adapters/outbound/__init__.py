"""Connections that the crib opens to addresses that others chose."""
