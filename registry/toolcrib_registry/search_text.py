"""What of a contract is searched, and how text becomes words.

Texts for the encoder: `group - name: first sentence`, `group name`, `name: description`, and
example requests. Words for the keyword leg: all of that, parameter names and descriptions, when to
use, tags. "When not to use" stays out of both: it would attract what it is meant to keep away.
Pure; a change here needs a new `TEMPLATE_VERSION`, so that stored vectors are made again.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from toolcrib_registry.stems import stem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolcrib_protocol.json_value import Json
    from toolcrib_protocol.tool import Contract

TEMPLATE_VERSION: Final = 2
_LONGEST_TEXT: Final = 2_000
"""The encoder reads about 1,000 characters; more of a text only costs time."""
_LONGEST_QUERY: Final = 4_000
_MOST_EXAMPLES: Final = 30
_MOST_WORDS: Final = 2_000
_DEEPEST: Final = 4
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[a-z]+|[0-9]+|[^\W\d_a-z]+")
# Scripts that are written without spaces: Han, Kana, Thai, Lao, Khmer, Myanmar.
_UNSPACED = re.compile(
    "[\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\u3040-\\u30ff"
    "\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff]+"
)
_COMMON: Final = frozenset(
    re.findall(
        r"\w+",
        "a about an and are as at be by can could do does for from had has have how i if in into "
        "is it me my need no not of on or our please should such that the their then there these "
        "they this to want was we what when where which who will with would you your",
    )
)
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s|\n")
_CLAUSE = re.compile(
    r"[.;!?\n。；！？]+|,\s*(?:and|then|also)\s|\s(?:and then|then|and also)\s|，|、(?=\S{4})"
)


def vector_texts(contract: Contract) -> list[str]:
    """The three texts whose mean is the vector of a tool."""
    group, name = spaced(contract.group), spaced(contract.name)
    description = " ".join([contract.description, contract.when_to_use]).strip()[:_LONGEST_TEXT]
    first = _SENTENCE.split(description, maxsplit=1)[0]
    texts = f"{group} - {name}: {first}", f"{group} {name}", f"{name}: {description}"
    return [_valid(text) for text in texts]


def example_texts(contract: Contract) -> list[str]:
    """Requests that the contract gives as examples."""
    requests = (example.request.strip() for example in contract.examples[:_MOST_EXAMPLES])
    return [_valid(request[:_LONGEST_TEXT]) for request in requests if request]


def contract_words(contract: Contract) -> list[str]:
    """The words of a tool for the keyword leg, with repetition."""
    parts = [
        spaced(contract.group),
        # The name three times: it says more than any other words.
        *[spaced(contract.name)] * 3,
        contract.title or "",
        contract.description,
        contract.when_to_use,
        *(spaced(tag) for tag in contract.tags),
        *example_texts(contract),
        *_parameter_texts(contract.input_schema, 0),
    ]
    return words(" ".join(parts))[:_MOST_WORDS]


def _parameter_texts(schema: Json, depth: int) -> Iterator[str]:
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return
    properties = schema.get("properties")
    for name, part in properties.items() if isinstance(properties, dict) else ():
        yield spaced(name)
        if isinstance(part, dict):
            yield str(part.get("description", ""))[:_LONGEST_TEXT]
            yield from _parameter_texts(part, depth + 1)
            yield from _parameter_texts(part.get("items"), depth + 1)


def spaced(name: str) -> str:
    """A name as words: `listPullRequests`, `list-pull_requests` become `list Pull Requests`."""
    return re.sub(r"[\W_]+", " ", _CAMEL.sub(" ", name)).strip()


def words(text: str) -> list[str]:
    """Stems of folded words, the commonest left out; pairs of letters in unspaced scripts.

    A text of common words only keeps them: a query like "what is it" must not be empty.
    """
    found = _all_words(text)
    return [word for word in found if word not in _COMMON] or found


def _all_words(text: str) -> list[str]:
    found: list[str] = []
    for match in _WORD.finditer(folded(_CAMEL.sub(" ", text[: _LONGEST_TEXT * 20]))):
        word = match.group()
        if not word.isascii() and _UNSPACED.search(word):
            found.extend(_pieces(word))
        else:
            found.append(stem(word))
    return found


def query_text(text: str) -> str:
    """A query, bounded and without surplus blanks."""
    return " ".join(unicodedata.normalize("NFKC", _valid(text[:_LONGEST_QUERY])).split())


def _valid(text: str) -> str:
    """Text that is legal UTF-8: lone surrogates are legal JSON, and no tokenizer takes them."""
    return text.encode("utf-8", "replace").decode()


def clauses(text: str) -> list[str]:
    """The clauses of a long query; none for a query that is one thought."""
    found = [part.strip() for part in _CLAUSE.split(text)]
    kept = [part for part in found if len(words(part)) >= _SHORTEST_CLAUSE]
    return kept[:_MOST_CLAUSES] if len(kept) > 1 else []


_SHORTEST_CLAUSE: Final = 3
_MOST_CLAUSES: Final = 8


def spelling(name: str) -> str:
    """A name without case, accents and separators: what all its spellings share."""
    if name.isascii():
        # All names of a catalogue are spelt when it is opened; this is five times as fast.
        return name.lower().translate(_SEPARATORS)
    return re.sub(r"[\W_]+", "", folded(name))


_SEPARATORS: Final = {code: None for code in range(128) if not chr(code).isalnum()}


def folded(text: str) -> str:
    """NFKC, without case and accents."""
    if text.isascii():
        return text.casefold()
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def without_unspaced(text: str) -> str:
    """The rest of a text: to an encoder that cannot read them, such scripts are only noise."""
    return _UNSPACED.sub(" ", text)


def is_unspaced(text: str) -> bool:
    """Whether most letters of `text` are of a script without spaces (Chinese, Japanese, Thai)."""
    letters = sum(c.isalpha() for c in text)
    unspaced = sum(len(run) for run in _UNSPACED.findall(text))
    return unspaced * 2 > letters


def _pieces(run: str) -> list[str]:
    """Pairs of neighbouring characters inside unspaced runs; other letters stay words."""
    pieces: list[str] = []
    end = 0
    for match in _UNSPACED.finditer(run):
        if match.start() > end:
            pieces.append(run[end : match.start()])
        text, end = match.group(), match.end()
        pieces.extend(text[i : i + 2] for i in range(max(1, len(text) - 1)))
    return [*pieces, run[end:]] if end < len(run) else pieces
