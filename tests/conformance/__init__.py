"""The official MCP conformance suite, run against toolcrib: `python -m tests.conformance`."""
