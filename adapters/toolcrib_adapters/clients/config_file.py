"""A client's configuration file, changed safely: checked, backed up, replaced at once.

The new text is read before it is written, and has to say exactly what it said before but for the
entries that were to change; otherwise nothing is written. Permissions and symbolic links stay.
"""

from __future__ import annotations

import os
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from toolcrib_adapters.client_configs import without_comments
from toolcrib_adapters.clients.jsonc import text_of_member, with_member, without_member
from toolcrib_adapters.clients.toml_table import (
    text_of_table,
    with_table,
    without_table,
    written_table,
)
from toolcrib_protocol.errors import CONFLICT, INVALID_SETTINGS, ErrorKind, ToolError
from toolcrib_protocol.json_value import parse_json

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_protocol.json_value import Json, JsonObject

_MOST_BYTES: Final = 20_000_000
_PRIVATE: Final = 0o600


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The text of a client's file, and changes of it; every change is a new value.

    Attributes:
        path: where it is.
        text: its text; empty if it does not exist.
        section: the keys under which the client keeps its servers.
        is_toml: its language.
        was: what was read, as bytes; None if it does not exist.
    """

    path: Path
    text: str
    section: tuple[str, ...]
    is_toml: bool
    was: bytes | None

    @classmethod
    def read(cls, path: Path, section: tuple[str, ...], *, is_toml: bool) -> ConfigFile:
        """The file at `path`, which need not exist.

        Raises:
            ToolError: `invalid_settings`: it cannot be read, or is not what it should be.
        """
        try:
            was = path.read_bytes()
        except FileNotFoundError:
            return cls(path, "", section, is_toml, None)
        except OSError as error:
            raise _unusable(path, f"cannot be read: {error.strerror}") from error
        if len(was) > _MOST_BYTES:
            raise _unusable(path, f"is larger than {_MOST_BYTES:,} bytes")
        try:
            text = was.decode("utf-8")
        except UnicodeDecodeError as error:
            raise _unusable(path, f"is not UTF-8: {error}") from error
        file = cls(path, text, section, is_toml, was)
        file.document()  # what is malformed is left alone from the start
        return file

    def document(self) -> JsonObject:
        """What it says.

        Raises:
            ToolError: `invalid_settings`, with the place.
        """
        value = self._parsed()
        if not isinstance(value, dict):
            raise _unusable(self.path, "is no object at its top")
        return value

    def _parsed(self) -> Json:
        text = self.text.lstrip("\ufeff")
        if not text.strip():
            return {}
        try:
            return tomllib.loads(text) if self.is_toml else parse_json(without_comments(text))
        except tomllib.TOMLDecodeError as error:
            raise _unusable(self.path, f"is malformed: {error}") from error
        except ToolError as error:
            raise _unusable(self.path, f"is malformed: {error.message}") from error

    def servers(self) -> JsonObject:
        """The servers that it names.

        Raises:
            ToolError: `invalid_settings`: its section is no object.
        """
        found: Json = self.document()
        for name in self.section:
            found = found.get(name, {}) if isinstance(found, dict) else found
        if found is None:
            return {}
        if not isinstance(found, dict):
            raise _unusable(self.path, f"has no object under {'.'.join(self.section)!r}")
        return found

    def raw(self, name: str) -> str | None:
        """How the entry of that name is written; None if there is none."""
        path = (*self.section, name)
        if self.is_toml:
            return text_of_table(self.text, path)
        return text_of_member(self.text, path) if self.text.strip("\ufeff \t\r\n") else None

    def having(self, name: str, entry: JsonObject) -> ConfigFile:
        """The file with an entry.

        Raises:
            ToolError: `invalid_settings`: it is written in a way that cannot be changed safely.
        """
        path = (*self.section, name)
        if self.is_toml:
            new = with_table(self.text, path, written_table(path, entry))
        else:
            new = with_member(self.text, path, entry)
        return self._changed(new, name, entry)

    def having_raw(self, name: str, written: str) -> ConfigFile:
        """The file with an entry as it once stood there.

        Raises:
            ToolError: `invalid_settings`: it cannot be changed safely.
        """
        path = (*self.section, name)
        if self.is_toml:
            new = with_table(self.text, path, written)
        else:
            new = with_member(self.text, path, written, raw=True)
        file = ConfigFile(self.path, new, self.section, self.is_toml, self.was)
        return self._changed(new, name, file.servers().get(name))

    def lacking(self, name: str) -> ConfigFile:
        """The file without an entry.

        Raises:
            ToolError: `invalid_settings`: it cannot be changed safely.
        """
        path = (*self.section, name)
        edit = without_table if self.is_toml else without_member
        return self._changed(edit(self.text, path), name, None)

    def _changed(self, text: str, name: str, entry: Json) -> ConfigFile:
        wanted = dict(self.servers())
        if entry is None:
            wanted.pop(name, None)
        else:
            wanted[name] = entry
        new = ConfigFile(self.path, text, self.section, self.is_toml, self.was)
        before, after = self.document(), new.document()
        if new.servers() != wanted or _beside(before, self.section) != _beside(after, self.section):
            raise _unusable(
                self.path,
                f"writes its servers in a way that cannot be changed safely; change {name!r} "
                "there by hand",
            )
        return new

    def write(self, backup: Path | None) -> None:
        """Replace the file at once, with a backup of what was there.

        Raises:
            ToolError: `conflict` if it changed meanwhile, `invalid_settings` if it cannot be
                written; either way it is as it was.
        """
        target = self.path.resolve()
        try:
            now = target.read_bytes() if target.exists() else None
            if now != self.was:
                text = f"{self.path} was changed by another program just now; do it again"
                raise ToolError(CONFLICT, text, ErrorKind.RETRYABLE)
            target.parent.mkdir(parents=True, exist_ok=True)
            mode = target.stat().st_mode & 0o7777 if now is not None else _PRIVATE
            if backup is not None and now is not None:
                _put(backup, now, mode)
            _put(target, self.text.encode(), mode)
        except OSError as error:
            raise _unusable(self.path, f"cannot be written: {error.strerror}") from error


def _beside(document: JsonObject, section: tuple[str, ...]) -> JsonObject:
    """What a document says besides its servers; an empty section is as good as none."""
    rest = dict(document)
    inner = rest.pop(section[0], None)
    if len(section) > 1 and isinstance(inner, dict):
        rest[section[0]] = _beside(inner, section[1:])
    return rest


def _put(path: Path, content: bytes, mode: int) -> None:
    """Replace a file at once, whatever happens meanwhile."""
    scratch = path.with_name(f".{path.name}.{uuid4().hex[:8]}")
    try:
        descriptor = os.open(scratch, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        scratch.chmod(mode)
        scratch.replace(path)
    except OSError:
        with suppress(OSError):
            scratch.unlink()
        raise


def _unusable(path: Path, text: str) -> ToolError:
    return ToolError(INVALID_SETTINGS, f"{path} {text}. Nothing was changed", ErrorKind.NEEDS_HUMAN)
