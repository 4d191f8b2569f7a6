"""Which encoder a setting names. Loads none, so that a wrong setting is told at once."""

from __future__ import annotations

from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError


def encoder_part(wanted: str) -> tuple[str | None, tuple[str, ...]]:
    """Which part is the encoder that a setting names, and its arguments; None for `none`.

    Raises:
        ToolError: `invalid_settings`.
    """
    name, _, model = wanted.partition(":")
    if wanted == "none":
        return None, ()
    if wanted == "default":
        return "search.onnx_encoder", ()
    if name == "sentence-transformers" and model:
        return "search.sentence_encoder", (model,)
    raise ToolError(
        INVALID_SETTINGS,
        f"no encoder is called {wanted!r}; use default, none or "
        "sentence-transformers:FOLDER_OR_MODEL",
    )
