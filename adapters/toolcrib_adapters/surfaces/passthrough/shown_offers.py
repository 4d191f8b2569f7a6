"""Under which names one endpoint shows the resources and prompts of its sources. Pure.

A resource keeps its URI where that says whose it is; otherwise the source stands before it:
`toolcrib://SOURCE/URI`, which is always understood. A prompt keeps its name at a group's endpoint
and is published as `source__name` elsewhere, as tools are. Names depend on the source and the entry
alone wherever that is possible, so they are the same tomorrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from toolcrib_adapters.surfaces.passthrough.offer_kinds import PROMPTS, RESOURCES, TEMPLATES
from toolcrib_adapters.surfaces.passthrough.uri_template import may_come_from
from toolcrib_protocol.names import ToolId, published_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolcrib_adapters.surfaces.passthrough.offer_kinds import OfferKind
    from toolcrib_protocol.json_value import JsonObject

_SCHEME: Final = "toolcrib://"
_WEB: Final = ("http://", "https://")


@dataclass(frozen=True)
class ShownOffers:
    """The resources and prompts of an endpoint.

    Attributes:
        resources: by source; None where a list is not known.
        templates: by source.
        prompts: by source.
        is_bare: whether prompts keep the names that their sources gave.
    """

    resources: Mapping[str, tuple[JsonObject, ...] | None]
    templates: Mapping[str, tuple[JsonObject, ...] | None]
    prompts: Mapping[str, tuple[JsonObject, ...] | None]
    is_bare: bool

    @cached_property
    def _by_uri(self) -> dict[str, list[str]]:
        owners: dict[str, list[str]] = {}
        for kind, lists in ((RESOURCES, self.resources), (TEMPLATES, self.templates)):
            for source, entries in lists.items():
                for entry in entries or ():
                    named = owners.setdefault(kind.name_of(entry), [])
                    if source not in named:
                        named.append(source)
        return owners

    @cached_property
    def _schemes(self) -> dict[str, set[str]]:
        owners: dict[str, set[str]] = {}
        for uri, sources in self._by_uri.items():
            owners.setdefault(uri.partition(":")[0], set()).update(sources)
        return owners

    @cached_property
    def _has_gaps(self) -> bool:
        return any(
            entries is None
            for lists in (self.resources, self.templates)
            for entries in lists.values()
        )

    def owners(self, uri: str) -> tuple[str, ...]:
        """The sources that `uri` may belong to, by their lists, templates and schemes."""
        if len(self.resources) == 1:
            return tuple(self.resources)
        listed = self._by_uri.get(uri)
        if listed:
            return tuple(listed)
        fitting = tuple(
            source
            for source, entries in self.templates.items()
            if any(may_come_from(uri, TEMPLATES.name_of(entry)) for entry in entries or ())
        )
        if fitting or uri.startswith(_WEB):
            return fitting
        return tuple(sorted(self._schemes.get(uri.partition(":")[0], ())))

    def uri(self, source: str, uri: str) -> str:
        """How a resource or template of `source` is shown here."""
        if source not in self.resources or len(self.resources) == 1:
            return uri
        owners = self.owners(uri)
        if uri.startswith(_WEB) and not owners:
            # Nobody's list has it: a page that a client can open by itself.
            return uri
        return uri if owners == (source,) and not self._has_gaps else _explicit(source, uri)

    def split_uri(self, shown: str) -> tuple[str, str] | None:
        """Source and URI of a shown one that names its source; None for any other."""
        if not shown.startswith(_SCHEME):
            return None
        source, slash, uri = shown.removeprefix(_SCHEME).partition("/")
        # Some clients write the part after `//` in small letters.
        by_small = {name.casefold(): name for name in self.resources}
        found = source if source in self.resources else by_small.get(source.casefold())
        return (found, uri) if slash and found is not None else None

    @cached_property
    def prompt_names(self) -> dict[str, tuple[str, str]]:
        """Source and own name of each prompt, by the name that is shown, in the order of lists."""
        names: dict[str, tuple[str, str]] = {}
        for source, entries in self.prompts.items():
            for own in dict.fromkeys(PROMPTS.name_of(entry) for entry in entries or ()):
                is_clear = self.is_bare and self._prompt_owners[own] == 1 and own not in names
                shown = own if is_clear else published_name(ToolId(source, own), names)
                names[shown] = (source, own)
        return names

    @cached_property
    def _prompt_owners(self) -> dict[str, int]:
        owners: dict[str, int] = {}
        for entries in self.prompts.values():
            for own in {PROMPTS.name_of(entry) for entry in entries or ()}:
                owners[own] = owners.get(own, 0) + 1
        return owners

    @cached_property
    def shown_prompts(self) -> dict[tuple[str, str], str]:
        """The shown name of each prompt, by source and own name."""
        return {owned: shown for shown, owned in self.prompt_names.items()}

    def entries(self, kind: OfferKind) -> list[JsonObject]:
        """The entries of a list under the names that they have here."""
        lists = {RESOURCES: self.resources, TEMPLATES: self.templates, PROMPTS: self.prompts}[kind]
        entries: dict[str, JsonObject] = {}
        for source, offered in lists.items():
            for entry in offered or ():
                own = kind.name_of(entry)
                name = self.shown_prompts[source, own] if kind is PROMPTS else self.uri(source, own)
                entries.setdefault(name, {**entry, kind.identity: name})
        return list(entries.values())


def _explicit(source: str, uri: str) -> str:
    return f"{_SCHEME}{source}/{uri}"
