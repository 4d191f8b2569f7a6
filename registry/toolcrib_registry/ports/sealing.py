"""Secrets at rest: what is stored for later and must neither be read nor changed by others."""

from __future__ import annotations

from typing import Protocol


class Sealer(Protocol):
    """Encrypts and authenticates; synchronous, quick, safe to call from several threads."""

    def seal(self, plain: bytes, purpose: str) -> bytes:
        """The sealed form of `plain`; only `open` with the same purpose reads it again.

        Raises:
            ToolError: `invalid_settings` if there is no key that can be used.
        """
        ...

    def open(self, sealed: bytes, purpose: str) -> bytes:
        """What was sealed.

        Raises:
            ToolError: `invalid_settings` if it was sealed with a key that is gone, for another
                purpose, or was changed.
        """
        ...
