"""The settings of a crib: where it lives, which database, which encoder.

Nothing else reads the environment for toolcrib's own settings; sources expand `${NAME}` from it by
themselves.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

import platformdirs
from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError


class CribSettings(BaseSettings):
    """Read from `TOOLCRIB_HOME`, `TOOLCRIB_DATABASE`, `TOOLCRIB_ENCODER`; arguments win."""

    model_config = SettingsConfigDict(env_prefix="TOOLCRIB_", frozen=True, extra="ignore")

    home: Path = Field(default_factory=lambda: platformdirs.user_data_path("toolcrib"))
    """The folder with the database and the index; made on first use."""
    database: str | None = None
    """A database URL (`postgresql://...`); None is a SQLite file in the home folder."""
    encoder: str = "default"
    """`default` (shipped), `none` (keywords only) or `sentence-transformers:FOLDER_OR_MODEL`."""

    @classmethod
    def read(cls, home: Path | None = None) -> Self:
        """The settings of this process.

        Raises:
            ToolError: `invalid_settings`, naming the variable.
        """
        try:
            settings = cls() if home is None else cls(home=home)
        except ValidationError as error:
            first = error.errors()[0]
            name = "TOOLCRIB_" + "_".join(str(part) for part in first["loc"]).upper()
            raise ToolError(INVALID_SETTINGS, f"{name}: {first['msg']}") from error
        return settings.model_copy(update={"home": settings.home.expanduser().absolute()})

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
