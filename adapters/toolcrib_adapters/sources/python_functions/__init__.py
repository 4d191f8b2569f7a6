"""Python functions as a source: `source.py` is the crib's half, `worker.py` the one that runs them.

Nothing is imported here, so that the worker program starts with no more than it needs.
"""
