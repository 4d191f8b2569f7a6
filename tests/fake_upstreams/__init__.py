"""Upstream servers that tests start as processes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolcrib_protocol.json_value import Json, JsonObject

    FakeServer = Callable[..., JsonObject]

HERE = Path(__file__).parent


def line_server(script: JsonObject | None = None, **settings: Json) -> JsonObject:
    """The settings of a source whose server is `line_server.py`, doing what `script` says."""
    return {
        "transport": "stdio",
        "command": sys.executable,
        "args": ["-I", str(HERE / "line_server.py"), json.dumps(script or {})],
        **settings,
    }


def sdk_server(**settings: Json) -> JsonObject:
    """The settings of a source whose server is `sdk_server.py` over stdio: it speaks 2026-07-28."""
    return {
        "transport": "stdio",
        "command": sys.executable,
        "args": ["-I", str(HERE / "sdk_server.py"), "stdio"],
        **settings,
    }
