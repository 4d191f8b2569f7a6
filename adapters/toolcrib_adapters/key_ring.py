"""The key ring: the secrets that seal what leaves the crib and has to come back unchanged.

One file, readable by its owner only, shared by all replicas of a crib: the first key seals, all of
them open. A rotation puts a new key in front; keys that are older than the last few go. Knows
nothing of what is sealed.
"""

from __future__ import annotations

import json
import os
import secrets
from base64 import b64decode, b64encode
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import INVALID_SETTINGS, ErrorKind, ToolError

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from toolcrib_protocol.json_value import Json

RING_FILE: Final = "keys.json"
MOST_KEYS: Final = 3
"""How many keys open: what was sealed two rotations ago is still good."""
_KEY_BYTES: Final = 32
_OWNER_ONLY: Final = 0o600
_OTHERS: Final = 0o077


@dataclass(frozen=True, slots=True)
class Key:
    """One key: a name that may be shown, when it was made (ISO 8601), and the secret."""

    id: str
    made: str
    secret: bytes

    @classmethod
    def new(cls, now: datetime) -> Key:
        """A fresh one."""
        return cls(secrets.token_hex(4), now.isoformat(), secrets.token_bytes(_KEY_BYTES))


class KeyRing:
    """The keys in a file; read again whenever the file was replaced."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int, int] | None = None
        self._keys: tuple[Key, ...] = ()

    @classmethod
    def open(cls, path: Path, now: datetime) -> KeyRing:
        """The ring at `path`, made with one key if there is none.

        Raises:
            ToolError: `invalid_settings`: it cannot be read or made, or others can read it.
        """
        ring = cls(path)
        if not path.exists():
            _write_new(path, (Key.new(now),))
        ring.keys()
        return ring

    def keys(self) -> tuple[Key, ...]:
        """All keys, the one that seals first.

        Raises:
            ToolError: `invalid_settings`.
        """
        try:
            status = self._path.stat()
            stamp = (status.st_mtime_ns, status.st_ino, status.st_size)
            if stamp != self._stamp:
                _check_private(self._path, status.st_mode)
                self._keys, self._stamp = _read(self._path), stamp
        except OSError as error:
            raise _unusable(self._path, error.strerror or str(error)) from error
        return self._keys

    def secrets(self) -> tuple[bytes, ...]:
        """The secrets of all keys, the one that seals first.

        Raises:
            ToolError: `invalid_settings`.
        """
        return tuple(key.secret for key in self.keys())

    def leaving(self) -> tuple[Key, ...]:
        """The keys that the next rotation takes out.

        Raises:
            ToolError: `invalid_settings`.
        """
        return self.keys()[MOST_KEYS - 1 :]

    def rotate(self, now: datetime) -> tuple[Key, ...]:
        """Put a new key in front, and return all that are left.

        Raises:
            ToolError: `invalid_settings`.
        """
        keys = (Key.new(now), *self.keys())[:MOST_KEYS]
        scratch = _scratch(self._path)
        try:
            _write(scratch, keys)
            scratch.replace(self._path)
        except OSError as error:
            raise _unusable(self._path, error.strerror or str(error)) from error
        return self.keys()


def _read(path: Path) -> tuple[Key, ...]:
    try:
        written = json.loads(path.read_bytes())
        keys = tuple(_key(entry) for entry in written["keys"])
    except (ValueError, TypeError, KeyError) as error:
        text = "it is not a key ring that toolcrib wrote; move it away and a new one is made"
        raise _unusable(path, text) from error
    if not keys:
        raise _unusable(path, "it holds no key; move it away and a new one is made")
    return keys


def _key(entry: dict[str, str]) -> Key:
    secret = b64decode(entry["secret"], validate=True)
    if len(secret) < _KEY_BYTES:
        raise ValueError("a key is too short")
    return Key(str(entry["id"]), str(entry["made"]), secret)


def _write_new(path: Path, keys: tuple[Key, ...]) -> None:
    """Make the file, unless another process does so at the same moment: then theirs is used."""
    scratch = _scratch(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(scratch, keys)
        with suppress(FileExistsError):
            os.link(scratch, path)
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error
    finally:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)


def _write(path: Path, keys: tuple[Key, ...]) -> None:
    entries: list[Json] = [
        {"id": key.id, "made": key.made, "secret": b64encode(key.secret).decode()} for key in keys
    ]
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump({"keys": entries}, file, indent=2)
        file.flush()
        os.fsync(descriptor)


def _scratch(path: Path) -> Path:
    return path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}.new")


def _check_private(path: Path, mode: int) -> None:
    if mode & _OTHERS:
        text = f"others than its owner may use it (mode {mode & 0o777:o}); run: chmod 600 {path}"
        raise _unusable(path, text)


def _unusable(path: Path, why: str) -> ToolError:
    text = f"the key ring {str(path)!r} cannot be used: {why}"
    return ToolError(INVALID_SETTINGS, text, ErrorKind.NEEDS_HUMAN)
