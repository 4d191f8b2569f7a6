"""The settings of a crib: where it lives, which database, which encoder.

Nothing else reads the environment for toolcrib's own settings; sources expand `${NAME}` from it by
themselves.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

import platformdirs

from toolcrib_adapters.key_ring import RING_FILE
from toolcrib_adapters.outbound.addresses import Reach
from toolcrib_adapters.retention import USUAL, Retention
from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError

MOST_PROCESSES: Final = 128
"""Enough for a hundred servers, and too few to choke a machine."""
_MOST_PROCESSES_EVER: Final = 10_000


def _usual_home() -> Path:
    return platformdirs.user_data_path("toolcrib")


def _reach(told: str) -> Reach:
    try:
        return Reach(told)
    except ValueError as error:
        text = f"TOOLCRIB_UPSTREAM_ADDRESSES is {told!r}; it can be {', '.join(Reach)}"
        raise ToolError(INVALID_SETTINGS, text) from error


def _names(told: str) -> tuple[str, ...]:
    return tuple(name for part in told.split(",") if (name := part.strip()))


def _count(variable: str, default: int) -> int:
    told = os.environ.get(variable, "").strip()
    if not told:
        return default
    if not (told.isascii() and told.isdigit()) or not 0 < int(told) <= _MOST_PROCESSES_EVER:
        text = f"{variable} is {told!r}; it is a number from 1 to {_MOST_PROCESSES_EVER}"
        raise ToolError(INVALID_SETTINGS, text)
    return int(told)


@dataclass(frozen=True, slots=True, kw_only=True)
class CribSettings:
    """What a crib is opened with.

    Attributes:
        home: the folder with the database and the index; made on first use.
        database: a database URL (`postgresql://...`); None is a SQLite file in the home folder.
        encoder: `default` (shipped), `none` (keywords only) or
            `sentence-transformers:FOLDER_OR_MODEL`.
        key_ring: the file with the keys that seal request state, shared by all replicas; None is
            `keys.json` in the home folder.
        upstream_addresses: which addresses sources may be at.
        secret_names: further keys whose values are taken out of what is captured.
        most_processes: how many processes of sources may run at once.
        keep: how long records of calls and captures are kept.
    """

    home: Path = field(default_factory=_usual_home)
    database: str | None = None
    encoder: str = "default"
    key_ring: Path | None = None
    upstream_addresses: Reach = Reach.LOCAL
    secret_names: tuple[str, ...] = ()
    most_processes: int = MOST_PROCESSES
    keep: Retention = USUAL

    @classmethod
    def read(cls, home: Path | None = None) -> Self:
        """The settings of this process: `TOOLCRIB_HOME`, `_DATABASE` and so on; `home` wins.

        Raises:
            ToolError: `invalid_settings`, naming the variable.
        """
        told, ring = os.environ.get("TOOLCRIB_HOME"), os.environ.get("TOOLCRIB_KEY_RING")
        if home is None:
            home = _usual_home() if told is None else Path(told)
        return cls(
            home=home.expanduser().absolute(),
            database=os.environ.get("TOOLCRIB_DATABASE"),
            encoder=os.environ.get("TOOLCRIB_ENCODER", "default"),
            key_ring=Path(ring).expanduser().absolute() if ring else None,
            upstream_addresses=_reach(os.environ.get("TOOLCRIB_UPSTREAM_ADDRESSES", "local")),
            secret_names=_names(os.environ.get("TOOLCRIB_SECRET_NAMES", "")),
            most_processes=_count("TOOLCRIB_MOST_PROCESSES", MOST_PROCESSES),
            keep=Retention.read(os.environ),
        )

    @property
    def keys_file(self) -> Path:
        """Where the key ring is."""
        return self.home / RING_FILE if self.key_ring is None else self.key_ring

    def check_exists(self) -> None:
        """Return if there is a crib to read.

        Raises:
            ToolError: `invalid_settings`: the home folder does not exist.
        """
        if self.database is None and not self.home.is_dir():
            raise ToolError(
                INVALID_SETTINGS,
                f"there is no crib at {str(self.home)!r}; `toolcrib import` or `toolcrib add` with "
                "this --home makes one",
            )
