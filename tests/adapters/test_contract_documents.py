"""Contract files on disk are read with bounds, and a fault is told with its place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from toolcrib_adapters.contract_documents import LARGEST_FILE_BYTES, read_contract_document
from toolcrib_protocol.errors import INVALID_CONTRACT, ToolError
from toolcrib_protocol.tool import Contract

if TYPE_CHECKING:
    from pathlib import Path

YAML = """\
# Shared parts are written once.
name: forecast
version: "1.2.0"
when_to_use: before a trip
parameters: &place
  type: object
  properties:
    city: {type: string, examples: [2027-01-31, 2027-01-31T10:00:00]}
returns: *place
"""


def read(folder: Path, name: str, text: str | bytes) -> tuple[object, ...]:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    found = read_contract_document(path, "weather")
    assert found.unreadable == ()
    return found.entries


@pytest.mark.parametrize("name", ["a.yaml", "a.yml", "a.YAML"])
def test_yaml_is_read_with_anchors_and_dates_as_text(tmp_path: Path, name: str) -> None:
    (contract,) = read(tmp_path, name, YAML)
    assert isinstance(contract, Contract)
    assert contract.group == "weather"
    assert contract.input_schema == contract.output_schema
    assert contract.input_schema["properties"] == {
        "city": {"type": "string", "examples": ["2027-01-31", "2027-01-31T10:00:00"]}
    }


def test_a_yaml_file_may_hold_several_documents(tmp_path: Path) -> None:
    assert len(read(tmp_path, "a.yaml", "---\n" + YAML + "---\n" + YAML + "---\n")) == 2


def test_json_is_read_digit_for_digit_with_or_without_a_byte_order_mark(tmp_path: Path) -> None:
    tool = {"name": "f", "inputSchema": {"maximum": 2**70}}
    text = json.dumps({"tools": [tool]})
    assert read(tmp_path, "a.json", text) == read(tmp_path, "b.json", "\ufeff" + text) == (tool,)


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join([f'*{chr(97 + i)}'] * 10)}]\n" for i in range(8)
)


@pytest.mark.promise("snapshot-hostile-files")
@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.json", '{"tools": [}', r"a\.json: .*line 1, column 12"),
        ("a.json", '{"tools": [NaN]}', "NaN"),
        ("a.json", "[" * 100_000, "nested too deep"),
        ("a.json", "[" * 300 + "]" * 300, "nested deeper than 200"),
        ("a.json", b"\xff\xfe{}", "not UTF-8 text"),
        ("a.json", '{"servers": {}}', r"a\.json: this is no list of tools \(found: servers\)"),
        ("a.yaml", "tools:\n  - name: [x\n", r"a\.yaml: line 3, column 1"),
        (
            "a.yaml",
            "tools: !!python/object/apply:os.getcwd []",
            "could not determine a constructor",
        ),
        ("a.yaml", "[" * 10_000, "nested too deep"),
        ("a.yaml", "tools:\n  - on: 1\n", "the key True is not text; put it in quotes"),
        ("a.yaml", "tools: [.nan]", "nan is not a JSON number"),
        ("a.yaml", "tools: [!!binary aGk=]", "a bytes is not JSON"),
        ("a.yaml", "tools: [!!set {a}]", "a set is not JSON"),
        ("a.yaml", "tools: [2027-13-45]", "month must be in"),
        ("a.yaml", "a: \x00", "special characters are not allowed"),
        ("a.yaml", BOMB, "more than 1000000 values"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_file_and_place(
    tmp_path: Path, name: str, text: str | bytes, words: str
) -> None:
    with pytest.raises(ToolError, match=words) as caught:
        read(tmp_path, name, text)
    assert caught.value.code == INVALID_CONTRACT
    assert str(tmp_path / name) in caught.value.message


def test_a_file_that_is_missing_a_folder_or_too_large_is_refused(tmp_path: Path) -> None:
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(LARGEST_FILE_BYTES + 1)
    for path, words in (
        (tmp_path / "no.json", "no such file"),
        (tmp_path, "cannot be read"),
        (large, "bytes are more than"),
    ):
        with pytest.raises(ToolError, match=words):
            read_contract_document(path, "weather")
