"""Faults at the wire, and what a gateway makes of them: `python -m benchmarks.faults --help`."""
