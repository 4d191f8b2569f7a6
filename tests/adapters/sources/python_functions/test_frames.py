"""Messages between crib and worker arrive whole, in order, digit for digit."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_adapters.sources.python_functions.frames import (
    LARGEST_FRAME_BYTES,
    FrameError,
    FrameReader,
    packed,
)

if TYPE_CHECKING:
    from toolcrib_protocol.json_value import JsonObject

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
messages = st.lists(st.dictionaries(st.text(), values, max_size=3), max_size=4)


@given(messages, st.integers(1, 20))
def test_a_stream_cut_anywhere_gives_the_same_messages(sent: list[JsonObject], step: int) -> None:
    stream = b"".join(packed(message) for message in sent)
    reader = FrameReader()
    received = [
        message
        for start in range(0, len(stream), step)
        for message in reader.feed(stream[start : start + step])
    ]
    assert received == sent


@pytest.mark.parametrize(
    "stream", [b"\xff\xff\xff\xff", struct.pack(">I", 2) + b"[]", struct.pack(">I", 1) + b"{"]
)
def test_bytes_that_are_no_frames_are_refused(stream: bytes) -> None:
    with pytest.raises(FrameError):
        list(FrameReader().feed(stream))


def test_a_message_over_the_limit_or_beyond_json_is_not_sent() -> None:
    with pytest.raises(FrameError, match="bytes are more than the 67108864"):
        packed({"a": "x" * LARGEST_FRAME_BYTES})
    with pytest.raises(ValueError, match="JSON"):
        packed({"a": float("nan")})
