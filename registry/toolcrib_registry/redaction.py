"""Takes out of captured values what looks like a secret, before anything of them is kept.

Judged by names of keys and of parameters in addresses, by what schemas say (`format: password`,
`writeOnly`) and by the form of texts (tokens with known beginnings, keys, addresses with a
password). Pure. Errs on the side of taking out too much: what is captured is for looking at, not
for keeping.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from toolcrib_protocol.errors import ToolError
from toolcrib_protocol.json_pointer import below
from toolcrib_protocol.json_value import dump_json, parse_json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from toolcrib_protocol.json_value import Json, JsonObject

REDACTED: Final = "[redacted]"
CUT: Final = "[cut]"
MOST: Final = 262_144
"""How many characters, and values, are looked at; the rest is cut."""
_PARTS: Final = (
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "apikey",
    "accesskey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "authorization",
    "credential",
    "cookie",
    "bearer",
    "connectionstring",
)
_WHOLE: Final = frozenset({"auth", "pwd", "pass", "pin", "otp", "cvv", "cvc", "jwt", "ssn", "dsn"})
_PAGES: Final = ("page", "next", "continuation", "sync", "cursor", "max", "min", "num", "count")
_SIGNS: Final = frozenset({"key", "sig", "signature", "xamzsignature", "xgoogsignature"})
_MARKS: Final = re.compile(r"[^a-z0-9]+")
# Each alternative begins with fixed letters, and runs that something must follow are bounded.
_SECRETS: Final = re.compile(
    r"(?i:\b(?:bearer|basic)\s{1,9})[A-Za-z0-9._~+/=-]{8,}"
    r"|\beyJ[A-Za-z0-9_-]{8,200}\.[A-Za-z0-9_.-]{8,}"
    r"|\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{16,}"
    r"|\bxox[abeprs]-[A-Za-z0-9-]{10,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}"
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[A-Za-z0-9+/=\s\\]*(?:-----END [A-Z ]{0,30}KEY-----)?"
    r"|(?<=://)[^\s/:@]{1,200}:[^\s/@]{1,200}(?=@)"
)
_NAMED: Final = re.compile(
    r"(?i)((?:password|passwd|secret|api[_-]?key|token|authorization|cookie)"
    r"[\"']?\s{0,3}[=:]\s{0,3}[\"']?)([^\s\"'&;,}{]{4,})"
)
_PARAMETER: Final = re.compile(r"(?<=[?&;#])([^=&;#?\s\"'<>]{1,100})=([^&;#\s\"'<>]+)")
_DEEPEST: Final = 60
_MOST_SCHEMA_NODES: Final = 20_000


class Redactor:
    """Takes secrets out of JSON values.

    Attributes:
        places: JSON Pointers to what was taken out, in the order it was found.
        is_cut: whether there was more than is looked at.
    """

    def __init__(self, names: Collection[str] = (), *, known: Collection[str] = ()) -> None:
        """A redactor for one value.

        Args:
            names: further keys that hold secrets, in any case and spelling.
            known: keys that hold them exactly as they are written here.
        """
        self._names = {_folded(name) for name in names}
        self._known = frozenset(known)
        self._left = MOST
        self.places: list[str] = []
        self.is_cut = False

    def cleaned(self, value: Json, pointer: str = "", depth: int = 0) -> Json:
        """`value` without secrets."""
        if depth > _DEEPEST:
            return self._taken(pointer)
        if self._left <= 0:
            self.is_cut = True
            return CUT
        self._left -= 1
        if isinstance(value, dict):
            return {
                name: self._member(name, inner, below(pointer, name), depth)
                for name, inner in islice(value.items(), self._left + 1)
            }
        if isinstance(value, list):
            return [
                self.cleaned(inner, below(pointer, position), depth + 1)
                for position, inner in enumerate(islice(value, self._left + 1))
            ]
        return self._text(value, pointer, depth) if isinstance(value, str) else value

    def _member(self, name: str, value: Json, pointer: str, depth: int) -> Json:
        if value is None or isinstance(value, bool) or not self._is_secret(str(name)):
            return self.cleaned(value, pointer, depth + 1)
        return self._taken(pointer)

    def _text(self, text: str, pointer: str, depth: int) -> str:
        if len(text) > self._left:
            self.is_cut, text = True, text[: self._left]
        self._left -= len(text)
        if text[:1] in {"{", "["}:
            inner = _parsed(text)
            if isinstance(inner, dict | list):
                before = len(self.places)
                cleaned = self.cleaned(inner, pointer, depth + 1)
                return text if len(self.places) == before else dump_json(cleaned)
        found = _SECRETS.sub(REDACTED, text)
        found = _PARAMETER.sub(self._parameter, found)
        found = _NAMED.sub(lambda match: match.group(1) + REDACTED, found)
        if found != text:
            self.places.append(pointer)
        return found

    def _parameter(self, match: re.Match[str]) -> str:
        """A parameter of an address; in addresses keys and signatures let somebody in, too."""
        name = unquote(match.group(1))
        is_secret = self._is_secret(name) or _folded(name) in _SIGNS
        return f"{match.group(1)}={REDACTED}" if is_secret else match.group()

    def _taken(self, pointer: str) -> str:
        self.places.append(pointer)
        return REDACTED

    def _is_secret(self, name: str) -> bool:
        folded = _folded(name)
        return (
            name in self._known
            or folded in self._names
            or folded in _WHOLE
            or any(part in folded for part in _PARTS)
            or _is_token(folded)
        )


def secret_names(*schemas: JsonObject | None) -> frozenset[str]:
    """The names of properties that a schema calls secret, wherever in it they are."""
    return frozenset(name for schema in schemas for name in _secret_properties(schema))


def _secret_properties(schema: Json) -> Iterator[str]:
    waiting, seen = [schema], 0
    while waiting and seen < _MOST_SCHEMA_NODES:
        node, seen = waiting.pop(), seen + 1
        if isinstance(node, list):
            waiting.extend(node)
        elif isinstance(node, dict):
            properties = node.get("properties")
            for name, inner in properties.items() if isinstance(properties, dict) else ():
                if isinstance(inner, dict) and _is_called_secret(inner):
                    yield str(name)
            waiting.extend(node.values())


def _is_called_secret(schema: JsonObject) -> bool:
    return schema.get("writeOnly") is True or schema.get("format") == "password"


def _is_token(folded: str) -> bool:
    """Whether a name is that of a token that lets somebody in, not of a page or of a price."""
    return folded.endswith("token") and not folded.startswith(_PAGES)


def _folded(name: str) -> str:
    return _MARKS.sub("", name.lower())


def _parsed(text: str) -> Json:
    try:
        return parse_json(text)
    except ToolError:
        return None
