"""What models see of a version: model-safe schema, description, signature.

Versions never change, so each form is made once; the least recently used ones go when there are too
many. The exact schema still checks every call.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.schema import publish, signature

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject
    from toolcrib_registry.records import VersionRecord

_MOST_FORMS: Final = 5_000


@dataclass(frozen=True, slots=True)
class PublishedForm:
    """A version as models see it.

    Attributes:
        input_schema: the model-safe form.
        description: the contract's description, and the rules that the schema form cannot carry.
        parameters: the signature without the name: `(to: string, subject?: string) -> {id:
            string}`.
    """

    input_schema: JsonObject
    description: str
    parameters: str


class PublishedForms:
    """A bounded store of published forms; used from one event loop."""

    def __init__(self, most: int = _MOST_FORMS) -> None:
        self._most = most
        self._forms: OrderedDict[str, PublishedForm] = OrderedDict()

    def has(self, record: VersionRecord) -> bool:
        """Whether the form was made already."""
        return record.fingerprint in self._forms

    def of(self, record: VersionRecord) -> PublishedForm:
        """The published form of a version."""
        form = self._forms.get(record.fingerprint)
        if form is None:
            form = self._forms[record.fingerprint] = _published(record)
            if len(self._forms) > self._most:
                self._forms.popitem(last=False)
        else:
            self._forms.move_to_end(record.fingerprint)
        return form


def _published(record: VersionRecord) -> PublishedForm:
    contract = record.contract
    published = publish(contract.input_schema)
    description = " ".join(part for part in (contract.description, *published.notes) if part)
    return PublishedForm(
        published.schema, description, signature("", published.schema, contract.output_schema)
    )
