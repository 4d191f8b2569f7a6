"""Compiled checkers of schemas, one or two per version of a tool, made at the first call.

Versions never change, so a compiled checker is good for as long as the version is; the least
recently used ones go when there are too many.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.schema import Checker

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.contract_text import Underlay
    from toolcrib_registry.records import VersionRecord

_MOST_CHECKERS: Final = 10_000


class Checkers:
    """A bounded store of compiled checkers; used from one event loop."""

    def __init__(self, most: int = _MOST_CHECKERS) -> None:
        self._most = most
        self._compiled: OrderedDict[str, Checker] = OrderedDict()

    def of(self, record: VersionRecord) -> Checker:
        """The checker of the version's exact input schema.

        Raises:
            ToolError: `invalid_contract` if the schema cannot be compiled.
        """
        return self._checker(record.fingerprint, record.contract.input_schema)

    def under(self, underlay: Underlay) -> Checker:
        """The checker of the input schema that is under an overlay: the source's own.

        Raises:
            ToolError: `invalid_contract` if the schema cannot be compiled.
        """
        return self._checker(underlay.fingerprint, underlay.offered.input_schema)

    def of_output(self, record: VersionRecord) -> Checker | None:
        """The checker of the version's output schema; None if it promises nothing.

        Raises:
            ToolError: `invalid_contract` if the schema cannot be compiled.
        """
        schema = record.contract.output_schema
        return None if schema is None else self._checker(f"{record.fingerprint} output", schema)

    def _checker(self, key: str, schema: JsonObject) -> Checker:
        checker = self._compiled.get(key)
        if checker is None:
            checker = self._compiled[key] = Checker.compile(schema)
            if len(self._compiled) > self._most:
                self._compiled.popitem(last=False)
        else:
            self._compiled.move_to_end(key)
        return checker
