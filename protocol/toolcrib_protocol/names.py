"""The three names of a tool: identity, reference, published name.

Identity is (home group, name), never the bare name. A reference adds a version range. The published
name is what models see; it is *allocated*, so code that routes a call looks it up in the catalogue
and never cuts it apart. Pure text rules; which names are taken is told by the caller.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import count
from typing import TYPE_CHECKING, Final

from toolcrib_protocol.errors import INVALID_NAME, INVALID_REFERENCE, ToolError
from toolcrib_protocol.version import VersionRange

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

PUBLISHED_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
"""What every common model API accepts as a function name."""
GROUP_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9])?", re.ASCII)
"""Names of sources and groups: 1 to 64 of letters, digits, `.`, `_`, `-`, not at the ends."""
_SEPARATOR: Final = "__"
_HASH_LENGTH: Final = 8
_LONGEST: Final = 64
_SEARCH_SPELLING = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True, order=True)
class ToolId:
    """Who a tool is: its home group and its name there, exactly as the source spells it."""

    group: str
    name: str

    def __str__(self) -> str:
        return f"{self.group}/{self.name}"


@dataclass(frozen=True, slots=True)
class Reference:
    """A tool and the versions of it that a caller accepts."""

    tool: ToolId
    range: VersionRange = field(default_factory=VersionRange)

    @classmethod
    def parse(cls, text: str) -> Reference:
        """The reference that `text` writes: `group/tool`, `group/tool@^2`.

        A tool name may itself hold `/` or `@`; the group ends at the first `/`, and only an `@`
        that is followed by something shaped like a range starts one.

        Raises:
            ToolError: `invalid_reference`, or `invalid_version` for a bad range.
        """
        group, slash, rest = text.strip().partition("/")
        name, at, written = rest.rpartition("@")
        if not at or not name or not _looks_like_range(written):
            name, written = rest, ""
        if not slash or not GROUP_NAME.fullmatch(group) or not name:
            raise ToolError(
                INVALID_REFERENCE,
                f"{text!r} is not a tool reference; write group/tool or group/tool@^1",
            )
        return cls(ToolId(group, name), VersionRange.parse(written))

    def __str__(self) -> str:
        _, at, end = self.tool.name.rpartition("@")
        # A name like `react@18` would be read back as a range.
        is_plain = self.range == VersionRange() and not (at and _looks_like_range(end))
        return str(self.tool) if is_plain else f"{self.tool}@{self.range}"


def _looks_like_range(text: str) -> bool:
    return text in {"latest", "*"} or text[:1] in "^~<>=0123456789"


def check_group_name(name: str, *, what: str = "group") -> str:
    """`name` itself if it may name a source or group.

    Raises:
        ToolError: `invalid_name`, with a usable spelling derived from what was given.
    """
    if GROUP_NAME.fullmatch(name):
        return name
    raise ToolError(
        INVALID_NAME,
        f"{name!r} cannot name a {what}: use 1 to 64 letters, digits, '.', '_' or '-', starting "
        f"and ending with a letter or digit; for example {slug(name)!r}",
    )


def slug(text: str) -> str:
    """A valid group name made from any text; the same text always gives the same name.

    Accents are folded and everything else becomes `-`. What leaves nothing readable, or loses
    characters that could tell two names apart, keeps a short hash of the original.
    """
    folded = unicodedata.normalize("NFKD", text)
    ascii_text = "".join(c for c in folded if not unicodedata.combining(c))
    cleaned = re.sub(r"[^A-Za-z0-9_.-]+", "-", ascii_text, flags=re.ASCII).strip("-._")
    has_lost_letters = any(c.isalnum() and not c.isascii() for c in ascii_text)
    if cleaned and not has_lost_letters and len(cleaned) <= _LONGEST:
        return cleaned
    return f"{(cleaned or 'source')[: _LONGEST - _HASH_LENGTH - 1].rstrip('-._')}-{_digest(text)}"


def published_name(tool: ToolId, taken: Container[str]) -> str:
    """The name under which models see `tool`, given the names allocated before.

    It is `group__name` where that is legal and free; otherwise it is cut and ends in a hash of the
    identity, so the result depends on the identity alone and not on the order in which sources
    connect, except where two identities spell the same name: then the first keeps it.
    """
    plain = f"{tool.group}{_SEPARATOR}{tool.name}"
    if PUBLISHED_NAME.fullmatch(plain) and plain not in taken:
        return plain
    cleaned = re.sub(r"[^A-Za-z0-9_-]+", "_", plain, flags=re.ASCII)
    seeds = (str(tool) if attempt == 0 else f"{tool}#{attempt}" for attempt in count())
    candidates = (f"{cleaned[: _LONGEST - _HASH_LENGTH - 1]}_{_digest(seed)}" for seed in seeds)
    return next(candidate for candidate in candidates if candidate not in taken)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]


def nearest(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Up to `limit` of `known` that are spelt most like `name`, best first.

    Spelling is compared without case, spaces and punctuation; unlike names are left out.
    """
    wanted = _spelling(name)
    if not wanted:
        return []
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted)
    scored = []
    for candidate in known:
        matcher.set_seq1(_spelling(candidate))
        # The two cheap upper bounds spare the quadratic ratio for nearly all of a large catalogue.
        if matcher.real_quick_ratio() < _ALIKE or matcher.quick_ratio() < _ALIKE:
            continue
        scored.append((-matcher.ratio(), candidate))
    return [candidate for score, candidate in sorted(scored)[:limit] if -score >= _ALIKE]


_ALIKE: Final = 0.6


def _spelling(name: str) -> str:
    return _SEARCH_SPELLING.sub("", name[:200]).casefold()
