"""The quickstart of the README, run as a reader runs it, on an empty home."""

from __future__ import annotations

import os
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from tests.docs_blocks import ROOT, blocks_of_documents

if TYPE_CHECKING:
    from tests.docs_blocks import Block

QUICKSTART = "examples/quickstart.py"


@pytest.mark.promise("client-quickstart")
async def test_the_quickstart_prints_what_the_readme_says(tmp_path: Path) -> None:
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": programs, "TOOLCRIB_HOME": str(tmp_path / "home")}
    with anyio.fail_after(120):
        done = await anyio.run_process(
            [sys.executable, str(ROOT / QUICKSTART)], env=environment, cwd=tmp_path, check=False
        )
    assert done.stdout.decode() == _printed(f"{QUICKSTART}#all"), done.stderr.decode()


def _printed(what: str) -> str:
    """The block after the one that shows the code."""
    pairs: list[tuple[Block, Block]] = list(pairwise(blocks_of_documents()))
    (output,) = (after.text for code, after in pairs if code.what == what)
    return output
