"""What went over the wire in a call, kept for looking at later where the operator wants it.

The arguments as they were received and as they were sent, the answer as it came and as it was
delivered: without what looks like a secret, cut to a size, sealed. Needs nobody's time while the
call runs; `call_book.py` asks for it afterwards.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError
from toolcrib_protocol.json_value import dump_json, parse_json
from toolcrib_registry.call_recording import delivered
from toolcrib_registry.ports import Capture
from toolcrib_registry.redaction import Redactor, secret_names

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from toolcrib_protocol.call_rules import CallRules
    from toolcrib_protocol.json_value import Json, JsonObject
    from toolcrib_protocol.result import Result
    from toolcrib_registry.call_recording import EndedCall
    from toolcrib_registry.ports import Sealer
    from toolcrib_registry.records import VersionRecord

_log = logging.getLogger(__name__)

MOST_BYTES: Final = 64 * 1024
"""How much of each of the four parts is kept."""

_MOST_PLACES: Final = 100


class Captures:
    """Makes captures, and reads them again."""

    def __init__(
        self, sealer: Sealer, *, names: Collection[str] = (), most_bytes: int = MOST_BYTES
    ) -> None:
        """Captures sealed by `sealer`.

        Args:
            sealer: seals them.
            names: further keys whose values are secrets.
            most_bytes: how much of each part is kept.
        """
        self._sealer = sealer
        self._names = names
        self._most = most_bytes

    def wants(self, rules: CallRules, now: float) -> bool:
        """Whether a call under these rules is captured; a refusal wins over a debug session."""
        if rules.capture is not None:
            return rules.capture
        return rules.capture_until is not None and now < rules.capture_until

    def of(self, batch: Sequence[EndedCall]) -> list[Capture]:
        """The captures of those calls that are to be captured; what cannot be sealed is lost."""
        made: list[Capture] = []
        for ended in batch:
            if ended.is_captured:
                try:
                    made.append(self._capture(ended))
                except ToolError as error:
                    _log.warning("call %s is not captured: %s", ended.trail.id, error)
        return made

    def read(self, capture: Capture) -> JsonObject:
        """What was captured: `arguments`, `sent`, `answer`, `delivered`, each with `redacted`.

        Raises:
            ToolError: `invalid_settings` if it cannot be opened.
        """
        found = parse_json(self._sealer.open(capture.body, _purpose(capture.call)))
        if not isinstance(found, dict):
            raise ToolError(INVALID_SETTINGS, f"the capture of {capture.call!r} is no object")
        return found

    def _capture(self, ended: EndedCall) -> Capture:
        trail, record = ended.trail, ended.trail.record
        known = frozenset() if record is None else _known_secrets(record)
        facts: JsonObject = {
            "arguments": self._part(ended.call.arguments, known),
            "sent": None if trail.sent is None else self._part(trail.sent.values, known),
            "answer": self._result(trail.answer, known),
            "delivered": self._result(ended.result, known),
            "is_read_only": record is not None and record.contract.behaviour.read_only is True,
        }
        sealed = self._sealer.seal(dump_json(facts).encode(), _purpose(trail.id))
        return Capture(trail.id, ended.began, sealed)

    def _result(self, result: Result | None, known: Collection[str]) -> Json:
        if result is None:
            return None
        error = None if result.error is None else result.error.as_json()
        told = delivered(result)
        whole: JsonObject = {**told, "status": result.status.value, "error": error}
        return self._part(whole, known)

    def _part(self, value: Json, known: Collection[str]) -> JsonObject:
        redactor = Redactor(self._names, known=known)
        cleaned = redactor.cleaned(value)
        redacted: list[Json] = [*redactor.places]
        try:
            text = dump_json(cleaned)
        except ToolError:
            return {"unwritable": True}
        written = text.encode("utf-8", "surrogatepass")
        if len(written) <= self._most and not redactor.is_cut:
            return {"value": cleaned, "bytes": len(written), "redacted": redacted}
        start = written[: self._most].decode("utf-8", "ignore")
        return {"start": start, "cut": True, "redacted": redacted[:_MOST_PLACES]}


def _known_secrets(record: VersionRecord) -> frozenset[str]:
    """Names that the schemas call secret, and the operator's own values, nobody else's to see."""
    contract = record.contract
    names = secret_names(contract.input_schema, contract.output_schema)
    return names | {*record.reserved}


def _purpose(call: str) -> str:
    return f"capture:{call}"
