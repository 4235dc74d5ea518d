"""Server-sent events out of bytes, in whatever pieces they come."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from brain_client.sse import ServerEvent, SseDecoder

STREAM = (
    ": keep-alive\n\n"
    "event: session.state\ndata: {}\n\n"
    'id: 7\nevent: tool.call\ndata: {"text":"\u00e9 \U0001f642"}\n\n'
    "id: 8\r\nevent: a\r\ndata: 1\r\ndata: 2\r\n\r\n"
    "id: 9\nevent: never.ended\ndata: 3\n"
).encode()
EVENTS = [
    ServerEvent(None, "session.state", "{}"),
    ServerEvent("7", "tool.call", '{"text":"\u00e9 \U0001f642"}'),
    ServerEvent("8", "a", "1\n2"),
]


def decoded(*pieces: bytes) -> list[ServerEvent]:
    decoder = SseDecoder()
    return [event for piece in pieces for event in decoder.feed(piece)]


def test_an_event_is_one_once_a_blank_line_ends_it() -> None:
    assert decoded(STREAM) == EVENTS


@given(cuts=st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_any_cut_into_pieces_gives_the_same_events(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[begin:end] for begin, end in pairwise(places)]

    assert decoded(*pieces) == EVENTS
