"""Estimates of how many tokens a text costs a model.

A rule of thumb for cutting answers to size, not a tokenizer: no vocabulary file is needed and the
same text always gives the same number. Measured against o200k_base on tool definitions it errs on
the high side; see docs/benchmarks.md. Real counts belong to benchmarks.
"""

from __future__ import annotations

import re
from typing import Final

# A run of letters costs about a token for nine letters, a run of marks one for three (`":{"` is one
# token); digits come in threes; a CJK character is about 0.8, counted as one.
_PIECES = re.compile(r"[A-Za-z]+|[0-9]+|\s+|[!-/:-@\[-`{-~]+|.", re.ASCII | re.DOTALL)
_LETTERS_A_TOKEN: Final = 9
_DIGITS_A_TOKEN: Final = 3
_MARKS_A_TOKEN: Final = 3


def estimate_tokens(text: str) -> int:
    """About how many tokens `text` costs (o200k-like vocabularies)."""
    return sum(_cost(piece) for piece in _PIECES.findall(text))


def _cost(piece: str) -> int:
    first = piece[0]
    if first.isspace():
        # A single blank belongs to the word after it.
        return int(piece != " ")
    if not first.isascii():
        return 1
    if first.isalpha():
        return -(-len(piece) // _LETTERS_A_TOKEN)
    return -(-len(piece) // (_DIGITS_A_TOKEN if first.isdigit() else _MARKS_A_TOKEN))
