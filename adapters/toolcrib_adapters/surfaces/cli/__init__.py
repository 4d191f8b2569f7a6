"""The command line: one file a command, and what they share.

The only package that imports typer and rich.
"""
