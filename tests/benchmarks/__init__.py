"""The benchmarks still run: tiny counts, no claim about time."""
