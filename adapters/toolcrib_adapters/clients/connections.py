"""What `toolcrib connect` changed in clients' files, so that it can be taken back.

Kept in the crib's home. Taking back touches our own entry and the entries that were taken out;
whatever the user changed meanwhile stays.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError

from toolcrib_protocol.errors import STORE_UNAVAILABLE, ErrorKind, ToolError

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_adapters.clients.config_file import ConfigFile

_FILE: Final = "connections.json"
_MOST_KEPT: Final = 1_000_000


class Connection(BaseModel):
    """One change of one file.

    Attributes:
        client: whose file.
        path: the file.
        name: of our entry.
        entry: what was written.
        before: how an entry of that name was written before; None if there was none.
        removed: entries that were taken out, as they were written.
        made_file: whether the file was not there before.
        wrote: the digest of the whole text that was written.
        was: the whole text before; None if it was too long to keep.
    """

    model_config = ConfigDict(frozen=True)

    client: str
    path: str
    name: str
    entry: dict[str, JsonValue]
    before: str | None = None
    removed: dict[str, str] = {}
    made_file: bool = False
    wrote: str = ""
    was: str | None = None

    def written(self, old: ConfigFile, new: ConfigFile, before: Connection | None) -> Connection:
        """This change as the one that makes `new` of `old`, after an earlier one of its entry."""
        was: str | None = None if self.made_file else old.text
        if before is not None:
            was = before.was if before.wrote == _digest(old.text) else None
        kept = was if was is not None and len(was) <= _MOST_KEPT else None
        return self.model_copy(update={"wrote": _digest(new.text), "was": kept})


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()


_ADAPTER: Final = TypeAdapter(list[Connection])


class Connections:
    """The changes that are in force."""

    def __init__(self, home: Path) -> None:
        self._path = home / _FILE

    def all(self) -> list[Connection]:
        """Every change; none if the list cannot be read."""
        try:
            return _ADAPTER.validate_json(self._path.read_bytes())
        except (OSError, ValidationError):
            return []

    def find(self, path: Path, name: str) -> Connection | None:
        """The change of an entry in a file."""
        return next((c for c in self.all() if (c.path, c.name) == (str(path), name)), None)

    def note(self, connection: Connection) -> None:
        """Remember a change; one of the same entry is replaced.

        Raises:
            ToolError: `store_unavailable`: the list cannot be written.
        """
        others = self._without(connection.path, connection.name)
        self._write([*others, connection])

    def forget(self, path: Path, name: str) -> None:
        """It was taken back.

        Raises:
            ToolError: `store_unavailable`: the list cannot be written.
        """
        self._write(self._without(str(path), name))

    def _without(self, path: str, name: str) -> list[Connection]:
        return [c for c in self.all() if (c.path, c.name) != (path, name)]

    def _write(self, connections: list[Connection]) -> None:
        scratch = self._path.with_suffix(f".{os.getpid()}.new")
        try:
            self._put(connections, scratch)
        except OSError as error:
            text = (
                f"{self._path}, which keeps what is to be taken back one day, cannot be written: "
                f"{error.strerror}"
            )
            raise ToolError(STORE_UNAVAILABLE, text, ErrorKind.NEEDS_HUMAN) from error
        finally:
            with suppress(OSError):
                scratch.unlink(missing_ok=True)

    def _put(self, connections: list[Connection], scratch: Path) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Entries of clients hold keys, like their files.
        descriptor = os.open(scratch, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(json.dumps([c.model_dump() for c in connections], indent=2).encode())
        scratch.replace(self._path)


def taken_back(file: ConfigFile, connection: Connection) -> tuple[ConfigFile, list[str]]:
    """The file without our change, and what was done, in sentences.

    Raises:
        ToolError: `invalid_settings`: it cannot be changed safely.
    """
    done = []
    is_untouched = _digest(file.text) == connection.wrote
    servers = file.servers()
    if servers.get(connection.name) != connection.entry:
        done.append(f"{connection.name!r} was changed or taken out by somebody else and is kept")
    elif connection.before is not None:
        file = file.having_raw(connection.name, connection.before)
        done.append(f"{connection.name!r} is what it was before")
    else:
        file = file.lacking(connection.name)
        done.append(f"{connection.name!r} was taken out")
    for name, written in connection.removed.items():
        if name in file.servers():
            done.append(f"{name!r} is there already and is kept as it is")
        else:
            file = file.having_raw(name, written)
            done.append(f"{name!r} was put back")
    if is_untouched and connection.was is not None:
        # Remarks and commas included, which no entry has with it.
        file = replace(file, text=connection.was)
    return file, done


def is_left_empty(file: ConfigFile, connection: Connection) -> bool:
    """Whether nothing but our change was ever in the file."""
    if not connection.made_file:
        return False
    rest = file.document()
    with suppress(KeyError):
        if not file.servers():
            rest = {key: value for key, value in rest.items() if key != file.section[0]}
    return not rest
