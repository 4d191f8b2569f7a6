"""What commands want of the running crib of their home."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Literal

from toolcrib_adapters.surfaces.attach.greeting import Wish, digest

if TYPE_CHECKING:
    from toolcrib_adapters.settings import CribSettings


def wish_of(
    settings: CribSettings, ask: Literal["attach", "status", "retire", "call"] = "attach"
) -> Wish:
    """What a command with these settings asks."""
    return Wish(
        version=version("toolcrib"),
        ask=ask,
        database=digest(settings.database or ""),
        settings=told_settings(settings),
    )


def told_settings(settings: CribSettings) -> dict[str, str]:
    """The settings that change what a crib does, by the variables that set them; no secrets."""
    return {
        "TOOLCRIB_ENCODER": settings.encoder,
        "TOOLCRIB_KEY_RING": str(settings.keys_file),
        "TOOLCRIB_UPSTREAM_ADDRESSES": settings.upstream_addresses.value,
    }
