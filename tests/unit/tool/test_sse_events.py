"""The event parser: any way of cutting the bytes gives the same events (REPLY-06)."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.engine.tool.sse_events import EventParser, ServerSentEvent

pytestmark = pytest.mark.requirement("REPLY-06")

FIELDS = (
    *(b"", b"", b"event: a", b"event:b", b"event", b"data: 1", b"data:  2", b"data", b"data:"),
    *(b": comment", b"id: 7", b"retry: 1", b"other: x", b"no colon", b"da", b"ta: 4"),
    *(b"data: \xc3\xa9\xf0\x9f\x98\x80", b"data: \xff\xfe", b"\xef\xbb\xbfdata: 3"),
)
LINES = st.sampled_from(FIELDS)
STREAMS = st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r\n", b"\r"]))).map(
    lambda lines: b"".join(line + end for line, end in lines)
)


def parse(*chunks: bytes) -> list[ServerSentEvent]:
    parser = EventParser()
    return [event for chunk in chunks for event in parser.feed(chunk)]


@given(st.data())
def test_the_way_the_bytes_are_cut_changes_nothing(data: st.DataObject) -> None:
    stream = data.draw(STREAMS | st.binary(max_size=60))
    places = st.lists(st.integers(0, len(stream)), max_size=8)
    cuts = [0, *sorted(data.draw(places)), len(stream)]
    assert parse(*(stream[start:end] for start, end in pairwise(cuts))) == parse(stream)


@given(STREAMS)
def test_byte_by_byte_is_the_same(stream: bytes) -> None:
    assert parse(*(bytes([byte]) for byte in stream)) == parse(stream)


@given(st.lists(st.tuples(LINES, st.just(b"\n"))))
def test_every_kind_of_line_end_is_the_same(lines: list[tuple[bytes, bytes]]) -> None:
    plain = [line for line, _ in lines]
    first = parse(b"".join(line + b"\n" for line in plain))
    assert parse(b"".join(line + b"\r\n" for line in plain)) == first
    assert parse(b"".join(line + b"\r" for line in plain)) == first


@given(STREAMS)
def test_it_says_what_a_plain_reading_of_the_standard_says(stream: bytes) -> None:
    assert parse(stream) == plainly(stream)


def plainly(stream: bytes) -> list[ServerSentEvent]:
    """The standard's algorithm over the whole stream, line by line."""
    lines = stream.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    events: list[ServerSentEvent] = []
    name, data = b"", b""
    seen: dict[bytes, bytes] = {}
    for line in lines.split(b"\n")[:-1]:
        field, _, value = line.partition(b":")
        value = value[1:] if value[:1] == b" " else value
        if not line:
            if data:
                ident, retry = seen.get(b"id"), seen.get(b"retry")
                events.append(ServerSentEvent(name, data[:-1], ident, retry))
            name, data, seen = b"", b"", {}
        elif field == b"event":
            name = value
        elif field == b"data":
            data += value + b"\n"
        else:
            seen[field] = value
    return events


def test_an_event_that_no_blank_line_ended_is_none() -> None:
    assert parse(b"event: a\ndata: 1\n") == []
    assert parse(b"event: a\ndata: 1") == []


def test_what_follows_the_event_that_is_looked_at_is_not_parsed() -> None:
    parser = EventParser()
    events = parser.feed(b"data: 1\n\ndata: 2\n\n")
    assert next(events) == ServerSentEvent(b"", b"1")


def test_the_line_feed_of_a_split_line_end_is_no_line() -> None:
    assert parse(b"data: 1\r", b"\n", b"\r", b"\n") == [ServerSentEvent(b"", b"1")]
    assert parse(b"data: 1\r", b"\r") == [ServerSentEvent(b"", b"1")]
