"""The one loader of parts that are heavy or optional.

Everything else is imported at the top of a file. A part that needs a library of an extra, or that a quick command
should not wait for, has a name here; `load` imports it when it is wanted and says which extra is missing.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Final

from toolcrib_protocol.errors import MISSING_EXTRA, ToolError


@dataclass(frozen=True, slots=True)
class Part:
    """Where a part is (`module:attribute`) and which extra of the distribution brings its libraries."""

    target: str
    extra: str = "server"


PARTS: Final[dict[str, Part]] = {
    "cli": Part("toolcrib_adapters.surfaces.cli.app:main"),
    "store.sql": Part("toolcrib_adapters.stores.sql:open_store"),
    "store.upgrade": Part("toolcrib_adapters.stores.sql.upgrade:upgrade"),
    "search.engine": Part("toolcrib_adapters.search.engine:open_search"),
    "search.onnx_encoder": Part("toolcrib_adapters.search.onnx_encoder:OnnxEncoder"),
    "search.sentence_encoder": Part(
        "toolcrib_adapters.search.sentence_encoder:SentenceEncoder", "sentence-transformers"
    ),
    "source.mcp": Part("toolcrib_adapters.sources.mcp_upstream:McpUpstream"),
    "source.python": Part("toolcrib_adapters.sources.python_functions.source:PythonFunctions"),
    "source.snapshot": Part("toolcrib_adapters.sources.snapshots:SnapshotSource"),
    "surface.mcp": Part("toolcrib_adapters.surfaces.mcp_server:build_server"),
    "surface.http": Part("toolcrib_adapters.surfaces.http_app:serve_http"),
    "surface.stdio": Part("toolcrib_adapters.surfaces.stdio:serve_stdio"),
}


def load(name: str) -> Any:  # noqa: ANN401 - each part has a type of its own, known where it is loaded
    """The part of that name.

    Raises:
        ToolError: `missing_extra`, with the command that installs it.
    """
    part = PARTS[name]
    module, _, attribute = part.target.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        # A module of our own that is missing is a fault of ours and must not be dressed up.
        if error.name is None or error.name.startswith("toolcrib_"):
            raise
        raise ToolError(
            MISSING_EXTRA,
            f"this needs the package {error.name!r}, which is not installed; "
            f"run: pip install 'toolcrib[{part.extra}]'",
        ) from error
