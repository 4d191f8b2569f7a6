"""Bodies of answers: packed ones within a limit, and events however they are cut."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_adapters.outbound.event_stream import EventStream, LongEventError
from toolcrib_adapters.outbound.packed_body import PackedBodyError, Unpacking

BODY = b'{"a": "' + b"x" * 3_000 + b'"}'
RAW = zlib.compressobj(wbits=-zlib.MAX_WBITS)
PACKED = {
    "": BODY,
    "identity": BODY,
    "gzip": gzip.compress(BODY),
    "deflate": zlib.compress(BODY),
    "DEFLATE": RAW.compress(BODY) + RAW.flush(),
}


@pytest.mark.promise("unruly-bodies")
@pytest.mark.parametrize("encoding", list(PACKED))
@pytest.mark.parametrize("size", [7, 10_000])
def test_a_body_is_unpacked_part_by_part(encoding: str, size: int) -> None:
    unpacking, packed = Unpacking(encoding), PACKED[encoding]
    parts = [packed[at : at + size] for at in range(0, len(packed), size)]
    assert b"".join(unpacking.unpacked(part, 1_000_000) for part in parts) == BODY


@pytest.mark.promise("unruly-bodies")
def test_a_bomb_is_not_unpacked_to_its_end() -> None:
    packed = gzip.compress(b" " * 50_000_000)
    assert len(Unpacking("gzip").unpacked(packed, 3_000_000)) == 3_000_001


@pytest.mark.promise("unruly-bodies")
@pytest.mark.parametrize("encoding", ["br", "gzip, gzip"])
def test_a_packing_that_was_not_asked_for_is_refused(encoding: str) -> None:
    with pytest.raises(PackedBodyError, match="not asked for"):
        Unpacking(encoding)


@pytest.mark.promise("unruly-bodies")
def test_a_body_that_is_not_packed_as_it_says_is_refused() -> None:
    with pytest.raises(PackedBodyError, match="not packed as it says"):
        Unpacking("gzip").unpacked(b"{}", 100)


STREAM = (
    "\ufeff: hello\n\ndata: one\n\nevent: message\ndata: two\ndata:  three\nid: 7\n\n"
    "event: other\ndata: four\n\nid: 8\n\ndata\nretry: 1\n\ndata: f\u00fcnf\n\n"
).encode()
MESSAGES = [b"one", b"two\n three", b"", "f\u00fcnf".encode()]


@given(
    cuts=st.lists(st.integers(0, len(STREAM) + 20), max_size=8),
    ending=st.sampled_from([b"\n", b"\r\n", b"\r"]),
)
def test_events_are_the_same_however_they_are_cut(cuts: list[int], ending: bytes) -> None:
    text = STREAM.replace(b"\n", ending)
    events, at, found = EventStream(1_000), 0, []
    for cut in [*sorted(cuts), len(text)]:
        found += events.data_of(text[at:cut])
        at = max(at, cut)
    assert found == MESSAGES


def test_an_event_without_end_is_refused() -> None:
    events = EventStream(1_000)
    assert events.data_of(b"data: " + b"x" * 900 + b"\n\n") == [b"x" * 900]
    assert events.data_of(b"data: " + b"x" * 900) == []
    with pytest.raises(LongEventError, match="longer than 1,000 bytes"):
        events.data_of(b"x" * 100)
