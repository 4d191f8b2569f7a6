"""Content blocks are read, never rebuilt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolcrib_protocol.content import block_problem, text_block, text_of

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject


@pytest.mark.parametrize(
    "block",
    [
        text_block("hello"),
        {"type": "image", "data": "aGk=", "mimeType": "image/png", "annotations": {"priority": 1}},
        {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "file:///a", "name": "a", "_meta": {"x": 1}},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "t"}},
    ],
)
def test_blocks_of_the_five_kinds_have_no_problem(block: JsonObject) -> None:
    assert block_problem(block) is None


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ("text", "a block must be an object, not str"),
        ({"type": "video"}, "unknown block type 'video'"),
        ({}, "unknown block type None"),
        ({"type": ["text"]}, "unknown block type ['text']"),
        ({"type": "image", "data": "x"}, "a block of type 'image' needs mimeType"),
        ({"type": "resource_link"}, "a block of type 'resource_link' needs uri, name"),
    ],
)
def test_an_odd_block_is_described(block: object, problem: str) -> None:
    assert block_problem(block) == problem


def test_text_is_shown_as_it_is_and_everything_else_is_named() -> None:
    blocks: list[JsonObject] = [
        text_block("hello"),
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "resource_link", "uri": "file:///a", "name": "report"},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
        {"type": "resource", "resource": {"uri": "file:///b", "blob": "aGk="}},
        {"type": "resource"},
        {"type": "hologram"},
        {"type": "text"},
    ]
    assert text_of(blocks).split("\n") == [
        "hello",
        "[image image/png]",
        "[resource_link report]",
        "inside",
        "[resource file:///b]",
        "[resource ]",
        "[hologram ]",
        "",
    ]
