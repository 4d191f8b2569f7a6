from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from toolcrib_adapters.clock import SystemClock
from toolcrib_adapters.key_ring import KeyRing
from toolcrib_adapters.sealing import RingSealer
from toolcrib_protocol.errors import INVALID_SETTINGS, ToolError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


def sealer(ring: Path) -> RingSealer:
    return RingSealer(ring, SystemClock())


@pytest.mark.promise("sealed-at-rest")
def test_what_is_sealed_is_read_by_every_holder_of_the_ring_and_says_nothing(ring: Path) -> None:
    sealed = sealer(ring).seal(b"a secret", "handle")
    assert b"secret" not in sealed
    assert sealer(ring).open(sealed, "handle") == b"a secret"
    assert sealer(ring).seal(b"a secret", "handle") != sealed


@pytest.mark.promise("sealed-at-rest")
def test_what_was_changed_or_sealed_for_another_purpose_is_refused(ring: Path) -> None:
    door = sealer(ring)
    sealed = door.seal(b"x" * 100, "handle")
    for changed in (sealed[:-1], sealed[:-1] + b"\0", b"", b"\x01", sealed[:20], b"\x02" + sealed):
        with pytest.raises(ToolError) as refused:
            door.open(changed, "handle")
        assert refused.value.code == INVALID_SETTINGS
    with pytest.raises(ToolError, match="sealed for something else"):
        door.open(sealed, "record")


@pytest.mark.promise("sealed-at-rest")
def test_a_rotation_keeps_what_was_sealed_until_its_key_has_left_the_ring(ring: Path) -> None:
    door, now = sealer(ring), SystemClock().now()
    sealed = door.seal(b"old", "handle")
    keys = KeyRing.open(ring, now)
    for _ in range(2):
        keys.rotate(now)
        assert door.open(sealed, "handle") == b"old"
    keys.rotate(now)
    with pytest.raises(ToolError, match="not in the key ring any more"):
        door.open(sealed, "handle")
    assert door.open(door.seal(b"new", "handle"), "handle") == b"new"


def test_threads_may_seal_at_the_same_time(ring: Path) -> None:
    door = sealer(ring)
    with ThreadPoolExecutor(8) as pool:
        sealed = list(pool.map(lambda n: door.seal(str(n).encode(), "p"), range(200)))
    assert [door.open(each, "p") for each in sealed] == [str(n).encode() for n in range(200)]
