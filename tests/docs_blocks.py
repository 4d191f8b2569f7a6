"""The code blocks of the README and of `docs/`, each with the HTML comment that says how it is run.

`<!-- file: examples/quickstart.py -->` before a block: the block is that file (or, with `#name` at
the end, its part between the lines `# region: name` and `# endregion`), and a test runs the file.
`<!-- run: name -->` before a shell block: a test takes the block with `block_to_run("name")` and
runs it. Used by `test_docs.py` and by those tests.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
PYTHON: Final = frozenset({"python", "py", "pycon"})
SHELL: Final = frozenset({"bash", "sh", "shell", "console"})

_COMMENT: Final = re.compile(r"\s*<!--\s*(file|run):\s*(\S+)\s*-->\s*")
_FENCE: Final = re.compile(r"(\s*)(`{3,}|~{3,})\s*([\w+-]*)")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced code block.

    Attributes:
        place: document and line of its fence.
        language: as written after the fence, in lower case; empty if none is.
        how: `file`, `run`, or None where no comment stands before the block.
        what: the file (with `#region`) or the name.
        text: the lines inside, with their last newline.
    """

    place: str
    language: str
    how: str | None
    what: str
    text: str


def documents() -> tuple[Path, ...]:
    """The README and every page of the documentation."""
    return (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))


def blocks_of_documents() -> tuple[Block, ...]:
    """Every fenced block of the README and the documentation."""
    return tuple(
        block
        for path in documents()
        for block in blocks_in(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT)))
    )


def block_to_run(name: str) -> str:
    """The shell block marked `<!-- run: name -->`; there must be exactly one."""
    (block,) = (b for b in blocks_of_documents() if b.how == "run" and b.what == name)
    return block.text


def text_of(what: str) -> str:
    """What a block marked `<!-- file: what -->` must say: the file, or one region of it."""
    file, _, region = what.partition("#")
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines(keepends=True)
    if region:
        start = next(i for i, line in enumerate(lines) if line.strip() == f"# region: {region}")
        length = next(i for i, line in enumerate(lines[start:]) if line.strip() == "# endregion")
        lines = lines[start + 1 : start + length]
    return "".join(lines)


def blocks_in(text: str, document: str) -> list[Block]:
    """The fenced blocks of one document."""
    blocks: list[Block] = []
    lines = text.splitlines(keepends=True)
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence is None:
            at += 1
            continue
        end = _end_of(lines, at + 1, fence[2])
        how, what = _comment_before(lines, at)
        inside = "".join(line.removeprefix(fence[1]) for line in lines[at + 1 : end])
        blocks.append(Block(f"{document}:{at + 1}", fence[3].lower(), how, what, inside))
        at = end + 1
    return blocks


def _end_of(lines: list[str], start: int, fence: str) -> int:
    for at in range(start, len(lines)):
        if lines[at].strip() == fence:
            return at
    return len(lines)


def _comment_before(lines: list[str], at: int) -> tuple[str | None, str]:
    while at > 0 and not lines[at - 1].strip():
        at -= 1
    comment = _COMMENT.fullmatch(lines[at - 1]) if at > 0 else None
    return (comment[1], comment[2]) if comment else (None, "")
