"""What the crib knows and decides: catalogue, search, calls.

The outside world only through ports.
"""
