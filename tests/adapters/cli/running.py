"""The command line as tests run it: in this process, or as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
from anyio.streams.text import TextReceiveStream
from typer.testing import CliRunner

from toolcrib_adapters.surfaces.cli.app import build_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

COMMAND = (sys.executable, "-c", "from toolcrib_adapters.command import main; main()")


@dataclass(frozen=True, slots=True)
class Finished:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Its one JSON document; each test knows the form of its own."""
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class Shell:
    """A shell whose crib has a home of its own; searches by words unless told otherwise."""

    home: Path
    encoder: str = "none"
    database: str | None = None

    @property
    def environment(self) -> Mapping[str, str]:
        """What its commands see."""
        settings = {"TOOLCRIB_HOME": str(self.home), "TOOLCRIB_ENCODER": self.encoder}
        database = {"TOOLCRIB_DATABASE": self.database} if self.database else {}
        return {**os.environ, **settings, **database, "COLUMNS": "200", "TERM": "dumb"}

    def run(self, *words: str, given: str | None = None) -> Finished:
        """Run a command in this process."""
        done = CliRunner().invoke(build_app(words), words, given, env=self.environment)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Finished(done.exit_code, done.stdout, done.stderr)

    def spawn(self, *words: str, prefix: tuple[str, ...] = ()) -> Finished:
        """Run a command in a process of its own."""
        done = subprocess.run(
            [*prefix, *COMMAND, *words],
            env=self.environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    @asynccontextmanager
    async def serving(self, *words: str) -> AsyncIterator[tuple[str, anyio.abc.Process]]:
        """The URL and the process of `toolcrib serve`; the process is ended afterwards."""
        command = [*COMMAND, "serve", "--port", "0", *words]
        async with await anyio.open_process(command, env=self.environment) as process:
            try:
                assert process.stderr is not None
                said = ""
                with anyio.fail_after(90):
                    async for chunk in TextReceiveStream(process.stderr):
                        said += chunk
                        if "/mcp\n" in said:
                            break
                assert "/mcp\n" in said, said
                yield said.split()[-1], process
            finally:
                if process.returncode is None:
                    process.kill()
