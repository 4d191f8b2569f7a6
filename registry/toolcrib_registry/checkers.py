"""Compiled checkers of input schemas, one per version of a tool, made at the first call.

Versions never change, so a compiled checker is good for as long as the version is; the least
recently used ones go when there are too many.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.schema import Checker

if TYPE_CHECKING:
    from toolcrib_registry.records import VersionRecord

_MOST_CHECKERS: Final = 10_000


class Checkers:
    """A bounded store of compiled input checkers; used from one event loop."""

    def __init__(self, most: int = _MOST_CHECKERS) -> None:
        self._most = most
        self._compiled: OrderedDict[str, Checker] = OrderedDict()

    def of(self, record: VersionRecord) -> Checker:
        """The checker of the version's exact input schema.

        Raises:
            ToolError: `invalid_contract` if the schema cannot be compiled.
        """
        checker = self._compiled.get(record.fingerprint)
        if checker is None:
            checker = self._compiled[record.fingerprint] = Checker.compile(
                record.contract.input_schema
            )
            if len(self._compiled) > self._most:
                self._compiled.popitem(last=False)
        else:
            self._compiled.move_to_end(record.fingerprint)
        return checker
