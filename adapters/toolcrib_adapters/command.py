"""The entry of the `toolcrib` command.

Imports nothing heavy: with the base install only, it says what is missing.
"""

from __future__ import annotations

import gc
import sys

from toolcrib_adapters.extras import load
from toolcrib_protocol.errors import ToolError

_USAGE = 2
_OBJECTS_A_COLLECTION = 50_000


def main() -> None:
    """Run the command line, or say which extra brings it."""
    # Starting makes many objects that stay. Looking through all of them again and again for garbage
    # took a fifth of the time of a quick command.
    gc.set_threshold(_OBJECTS_A_COLLECTION)
    try:
        command_line = load("cli")
    except ToolError as error:
        sys.stderr.write(f"toolcrib: {error.message}\n")
        raise SystemExit(_USAGE) from None
    command_line()
