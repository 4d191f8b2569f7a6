"""Seals what is stored for later, with the keys of the ring that all replicas share.

AES-256-GCM under a key that is derived from a ring key for this use alone, so that nothing sealed
here can be confused with what the ring seals for clients. The first key seals, all of them open.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from toolcrib_adapters.key_ring import KeyRing
from toolcrib_protocol.errors import INVALID_SETTINGS, ErrorKind, ToolError

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_adapters.key_ring import Key
    from toolcrib_registry.ports import Clock

_FORM: Final = b"\x01"
KEY_ID_AT: Final = len(_FORM)
"""Where the name of the key stands in what it sealed."""
KEY_ID_BYTES: Final = 4
_NONCE_BYTES: Final = 12
_HEADER: Final = KEY_ID_AT + KEY_ID_BYTES
_USE: Final = b"toolcrib: stored for later"


class RingSealer:
    """A `Sealer` over the key ring in a file; the file is made when something is first sealed."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._ring: KeyRing | None = None
        self._ciphers: dict[str, AESGCM] = {}

    def seal(self, plain: bytes, purpose: str) -> bytes:
        """The sealed form of `plain`.

        Raises:
            ToolError: `invalid_settings` if the key ring cannot be used.
        """
        key = self._keys()[0]
        header, nonce = _FORM + bytes.fromhex(key.id), os.urandom(_NONCE_BYTES)
        sealed = self._cipher(key).encrypt(nonce, plain, header + purpose.encode())
        return header + nonce + sealed

    def open(self, sealed: bytes, purpose: str) -> bytes:
        """What was sealed.

        Raises:
            ToolError: `invalid_settings` if its key is gone, or it was sealed for another purpose
                or changed since.
        """
        header, key_id = sealed[:_HEADER], sealed[len(_FORM) : _HEADER].hex()
        key = next((each for each in self._keys() if each.id == key_id), None)
        if key is None or not header.startswith(_FORM):
            raise _unreadable("it was sealed with a key that is not in the key ring any more")
        nonce, body = sealed[_HEADER : _HEADER + _NONCE_BYTES], sealed[_HEADER + _NONCE_BYTES :]
        try:
            return self._cipher(key).decrypt(nonce, body, header + purpose.encode())
        except (InvalidTag, ValueError) as error:
            raise _unreadable("it was changed, or sealed for something else") from error

    def _keys(self) -> tuple[Key, ...]:
        if self._ring is None:
            self._ring = KeyRing.open(self._path, self._clock.now())
        return self._ring.keys()

    def _cipher(self, key: Key) -> AESGCM:
        known = self._ciphers.get(key.id)
        if known is None:
            secret = HKDF(SHA256(), length=32, salt=None, info=_USE).derive(key.secret)
            known = self._ciphers[key.id] = AESGCM(secret)
        return known


def _unreadable(why: str) -> ToolError:
    text = f"something that was stored for later cannot be read: {why}"
    return ToolError(INVALID_SETTINGS, text, ErrorKind.NEEDS_HUMAN)
