"""What `publish` sends for everything it accepts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.client import stock_tools
from tests.client.small_crib import SmallCrib
from toolcrib_client import Contract, Crib, InvalidContract, NotPermitted, ToolError
from toolcrib_client.hits import PublishedTool

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_client.publication import Publishable

HERE = str(stock_tools.__file__)


@pytest.mark.promise("client-publish")
async def test_publishing_brings_a_typed_receipt(crib: Crib, small: SmallCrib) -> None:
    contract = Contract(group="stock", name="count", version="1.0.0", description="Counts.")
    receipt = await crib.publish(contract)
    assert receipt.published == (PublishedTool("g/t@1.0.0", "g__t", "added"),)
    assert receipt.revision == 8
    assert small.published == [
        {"source": "stock", "kind": "snapshot", "entries": [contract.as_json()]}
    ]


@pytest.mark.promise("client-publish")
async def test_functions_are_published_with_their_file(crib: Crib, small: SmallCrib) -> None:
    await crib.publish(stock_tools.count, stock_tools.order)
    await crib.publish(stock_tools.count, source="shop")
    assert small.published == [
        {"source": "stock_tools", "kind": "python", "target": HERE},
        {"source": "shop", "kind": "python", "target": HERE},
    ]


async def test_files_and_modules_are_published_by_name(
    crib: Crib, small: SmallCrib, tmp_path: Path
) -> None:
    listed = tmp_path / "my tools.json"
    raw = {"name": "a", "inputSchema": {"type": "object"}}
    ours = {"name": "b", "when_to_use": "Always."}
    listed.write_text(json.dumps({"tools": [raw, ours, 7]}))
    await crib.publish(HERE)
    await crib.publish("package.module")
    await crib.publish(listed)
    assert small.published[:2] == [
        {"source": "stock_tools", "kind": "python", "target": HERE},
        {"source": "package.module", "kind": "python", "target": "package.module"},
    ]
    assert small.published[2] == {
        "source": "my-tools",
        "kind": "snapshot",
        "entries": [raw, {**ours, "group": "my-tools"}, 7],
    }


async def test_foreign_tools_need_the_name_of_their_source(crib: Crib, small: SmallCrib) -> None:
    raw = {"name": "a", "inputSchema": {"type": "object"}}
    with pytest.raises(InvalidContract, match="source='NAME'"):
        await crib.publish(raw)
    await crib.publish(raw, source="shop")
    assert small.published == [{"source": "shop", "kind": "snapshot", "entries": [raw]}]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((), "nothing to publish"),
        (("no such file",), "neither a file nor"),
        (("tools.yaml",), "toolcrib publish tools.yaml"),
        ((stock_tools.not_a_tool,), "put `@tool` above it"),
        ((stock_tools.count, {"name": "a"}), "do not mix"),
        (("tools.py", "more.py"), "together with other things"),
    ],
)
async def test_what_cannot_be_published_is_refused_with_a_reason(
    crib: Crib, given: tuple[Publishable, ...], words: str
) -> None:
    with pytest.raises(InvalidContract, match=words):
        await crib.publish(*given)


async def test_files_that_cannot_be_read_are_refused(crib: Crib, tmp_path: Path) -> None:
    for name, words in [("a.yaml", "toolcrib publish"), ("a.txt", "only .py and .json")]:
        (tmp_path / name).write_text("x")
        with pytest.raises(InvalidContract, match=words):
            await crib.publish(tmp_path / name)
    with pytest.raises(InvalidContract, match="cannot be read"):
        await crib.publish(tmp_path / "gone.json")


async def test_functions_of_several_files_are_refused(crib: Crib) -> None:
    elsewhere = _elsewhere()
    with pytest.raises(InvalidContract, match="all of one file"):
        await crib.publish(stock_tools.count, elsewhere)


async def test_a_name_that_cannot_be_a_source_is_refused(crib: Crib) -> None:
    with pytest.raises(ToolError, match="cannot name a source"):
        await crib.publish({"name": "a"}, source="no spaces")


@pytest.mark.promise("client-publish")
async def test_a_crib_that_takes_no_publications_says_so() -> None:
    async with Crib(SmallCrib(takes_publications=False)) as crib:
        with pytest.raises(NotPermitted, match="takes no publications"):
            await crib.publish({"name": "a"}, source="shop")


def _elsewhere() -> Publishable:
    from toolcrib_client import tool

    @tool
    def other(item: str) -> str:
        return item

    return other
