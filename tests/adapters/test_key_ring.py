"""The key ring: one file of one owner, shared, rotated, and never guessed at."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import anyio
import pytest

from tests.adapters.cli.running import Shell
from toolcrib_adapters.key_ring import MOST_KEYS, KeyRing
from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.mark.promise("interaction-key-ring")
def test_a_ring_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "keys.json"
    made = KeyRing.open(path, NOW)
    assert path.stat().st_mode & 0o777 == 0o600
    assert KeyRing.open(path, NOW).secrets() == made.secrets()
    assert [entry.name for entry in path.parent.iterdir()] == ["keys.json"]


@pytest.mark.promise("interaction-key-ring")
async def test_processes_that_start_at_the_same_moment_share_one_ring(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    rings: list[tuple[bytes, ...]] = []

    async def start() -> None:
        ring = await anyio.to_thread.run_sync(KeyRing.open, path, NOW)
        rings.append(ring.secrets())

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(start)
    assert len(set(rings)) == 1


@pytest.mark.promise("interaction-key-rotation")
def test_a_rotation_is_seen_by_who_has_the_ring_open(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    used, other = KeyRing.open(path, NOW), KeyRing.open(path, NOW)
    first = used.secrets()
    other.rotate(NOW)
    assert used.secrets()[1:] == first
    for _ in range(MOST_KEYS):
        other.rotate(NOW)
    assert len(used.secrets()) == MOST_KEYS
    assert not set(first) & set(used.secrets())


@pytest.mark.promise("interaction-key-ring")
@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("", "not a key ring"),
        ("{}", "not a key ring"),
        ('{"keys": []}', "holds no key"),
        ('{"keys": [{"id": "a", "made": "b", "secret": "AAAA"}]}', "not a key ring"),
        ('{"keys": [{"id": "a", "made": "b", "secret": "é"}]}', "not a key ring"),
        ('{"keys": 1}', "not a key ring"),
    ],
)
def test_a_file_that_is_no_ring_is_named_and_left_alone(
    tmp_path: Path, written: str, told: str
) -> None:
    path = tmp_path / "keys.json"
    path.write_text(written)
    path.chmod(0o600)
    with pytest.raises(ToolError, match=told) as error:
        KeyRing.open(path, NOW)
    assert error.value.code == INVALID_SETTINGS
    assert str(path) in error.value.message
    assert path.read_text() == written


@pytest.mark.promise("interaction-key-ring")
def test_a_ring_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    KeyRing.open(path, NOW)
    path.chmod(0o644)
    with pytest.raises(ToolError, match=r"mode 644\); run: chmod 600"):
        KeyRing.open(path, NOW)


@pytest.mark.parametrize("action", ["open", "rotate"])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, action: str) -> None:
    path = tmp_path / "keys.json"
    ring = KeyRing.open(path, NOW)
    if action == "open":
        (tmp_path / "file").write_text("")
        with pytest.raises(ToolError, match=r"file/keys\.json' cannot be used"):
            KeyRing.open(tmp_path / "file" / "keys.json", NOW)
        return
    path.unlink()
    with pytest.raises(ToolError, match="cannot be used: No such file"):
        ring.rotate(NOW)


@pytest.mark.promise("interaction-key-rotation")
def test_the_command_line_shows_ages_and_never_secrets(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    first = shell.run("keys", "rotate", "--json").document["keys"]
    assert [key["seals"] for key in first] == [True, False]
    listed = shell.run("keys", "list", "--json")
    assert listed.document["keys"] == first
    assert listed.document["file"] == str(tmp_path / "keys.json")
    shown = shell.run("keys", "list").out
    assert "seals and opens" in shown
    written = (tmp_path / "keys.json").read_text()
    for line in written.splitlines():
        if "secret" in line:
            assert line.split('"')[3] not in shown + listed.out
