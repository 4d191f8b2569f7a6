"""The entry of the `toolcrib` command.

Imports nothing heavy: with the base install only, it says what is missing.
"""

from __future__ import annotations

import gc
import os
import sys

from toolcrib_adapters.extras import load
from toolcrib_protocol.errors import ToolError

_USAGE = 2
_OBJECTS_A_COLLECTION = 500_000


def main() -> None:
    """Run the command line, or say which extra brings it."""
    # Starting makes many objects that stay. Looking through all of them again and again for garbage
    # took a fifth of the time of a quick command. What stays up sets its own threshold.
    gc.set_threshold(_OBJECTS_A_COLLECTION)
    # Pydantic would read the metadata of every installed package to find plugins. Whoever has one
    # sets this to something else.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        command_line = load("cli")
    except ToolError as error:
        sys.stderr.write(f"toolcrib: {error.message}\n")
        raise SystemExit(_USAGE) from None
    try:
        command_line()
    finally:
        # Ending, Python looks through everything for garbage once more: a tenth of a second.
        gc.freeze()
