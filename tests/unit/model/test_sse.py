"""Server-sent events, read however they are written and cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.engine.model.sse import EventDecoder, TooLong

LIMIT = 1000
TEXT = (
    b'\xef\xbb\xbf: hello\n\ndata: {"a":1}\n\nevent: x\ndata: 2\nid: 7\n\n\n\n'
    b"data:3\ndata: 4\n\nretry: 5\n\ndata\n\nfoo: bar\n\ndata: \xc3\xbc\n\n"
)
EVENTS = [b'{"a":1}', b"2", b"3\n4", b"", b"\xc3\xbc"]


def read(*chunks: bytes) -> list[bytes]:
    decoder = EventDecoder(LIMIT)
    return [*(data for chunk in chunks for data in decoder.feed(chunk)), *decoder.end()]


@given(
    cuts=st.lists(st.integers(0, 2 * len(TEXT)), max_size=20),
    newline=st.sampled_from([b"\n", b"\r\n", b"\r"]),
)
def test_any_cut_and_any_end_of_line_gives_the_same_events(cuts: list[int], newline: bytes) -> None:
    text = TEXT.replace(b"\n", newline)
    places = [0, *sorted(cut % len(text) for cut in cuts), len(text)]
    chunks = [text[a:b] for a, b in pairwise(places)]

    assert read(*chunks) == EVENTS


@pytest.mark.parametrize(
    ("cut_off", "events"),
    [
        (b'data: {"a":1}', [b'{"a":1}']),
        (b'data: {"a":1}\r', [b'{"a":1}']),
        (b"data: [DONE]", [b"[DONE]"]),
        (b'data: {"a":', []),
        (b"dat", []),
        (b"", []),
    ],
)
def test_the_last_event_needs_no_empty_line_if_it_is_whole(
    cut_off: bytes, events: list[bytes]
) -> None:
    assert read(b"data: 0\n\n" + cut_off) == [b"0", *events]


def test_any_number_of_events_is_read() -> None:
    decoder = EventDecoder(LIMIT)

    assert sum(len(decoder.feed(b"data: 12345\n\n")) for _ in range(LIMIT)) == LIMIT


@pytest.mark.parametrize("piece", [b"x", b"data: x\n", b"data:\n", b": x\n", b": x\n\n", b"\n"])
def test_what_never_ends_is_too_long(piece: bytes) -> None:
    with pytest.raises(TooLong):
        read(*[piece] * (LIMIT + 1))


@pytest.mark.parametrize(
    ("text", "strange"),
    [
        (b"<html>\n<p>a: b", True),
        (b"<html>\n\ndata: 1\n\n", False),
        (b": x\n\n", False),
        (b"", False),
    ],
)
def test_what_is_no_stream_of_events_is_seen(text: bytes, *, strange: bool) -> None:
    decoder = EventDecoder(LIMIT)
    decoder.feed(text)
    decoder.end()

    assert decoder.nothing_but_strange == strange
