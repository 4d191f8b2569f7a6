"""Documentation that runs: no Python or shell block stands there untested."""

from __future__ import annotations

import ast
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

import pytest

from tests.docs_blocks import (
    PYTHON,
    ROOT,
    SHELL,
    block_to_run,
    blocks_in,
    blocks_of_documents,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.docs_blocks import Block

pytestmark = pytest.mark.promise("house-documentation-runs")

CODE: Final = [block for block in blocks_of_documents() if block.language in PYTHON | SHELL]


def test_every_code_block_says_how_it_is_run() -> None:
    assert [block.place for block in CODE if block.how is None] == []


def test_only_shell_blocks_are_run_by_name() -> None:
    assert [b.place for b in CODE if b.how == "run" and b.language not in SHELL] == []


def test_a_block_of_a_file_says_what_the_file_says() -> None:
    of_files = [block for block in CODE if block.how == "file"]
    assert [block.place for block in of_files if block.text != text_of(block.what)] == []


def test_a_test_runs_every_file_and_every_named_block() -> None:
    files = set(_files_in_tests())
    names = set(_named_blocks_in_tests())
    unused = [
        block.place
        for block in CODE
        if (block.how == "file" and _file_of(block).isdisjoint(files))
        or (block.how == "run" and block.what not in names)
    ]
    assert unused == []


def test_a_name_of_a_block_is_used_once() -> None:
    names = [block.what for block in CODE if block.how == "run"]
    assert sorted(names) == sorted(set(names))
    assert [block_to_run(name) for name in names] == [b.text for b in CODE if b.how == "run"]


def test_blocks_are_read_with_their_comments_languages_and_lines() -> None:
    text = """\
<!-- run: install -->
```bash
pip install x
```

<!-- file: a.py#part -->

  ~~~Python
  print(1)

  ~~~
```
plain
```
"""
    assert [(b.place, b.language, b.how, b.what, b.text) for b in blocks_in(text, "d.md")] == [
        ("d.md:2", "bash", "run", "install", "pip install x\n"),
        ("d.md:8", "python", "file", "a.py#part", "print(1)\n\n"),
        ("d.md:12", "", None, "", "plain\n"),
    ]


def _trees_of_tests() -> Iterator[ast.Module]:
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        yield ast.parse(path.read_text(encoding="utf-8"))


def _file_of(block: Block) -> set[str]:
    file = block.what.partition("#")[0]
    return {file, PurePosixPath(file).name}


def _files_in_tests() -> Iterator[str]:
    """What a test may mean a file by: its path or name as a string, or importing it."""
    for tree in _trees_of_tests():
        for node in ast.walk(tree):
            match node:
                case ast.Constant(value=str() as written):
                    yield written
                case ast.ImportFrom(module=str() as module):
                    yield module.replace(".", "/") + ".py"
                case _:
                    pass


def _named_blocks_in_tests() -> Iterator[str]:
    for tree in _trees_of_tests():
        for node in ast.walk(tree):
            match node:
                case ast.Call(
                    func=ast.Name(id="block_to_run"), args=[ast.Constant(value=str() as name)]
                ):
                    yield name
                case _:
                    pass
