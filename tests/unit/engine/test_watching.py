"""One watch stream: bounded, in order, and honest about what it left out."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from brain.engine.session.fanout import Emitted, Fanout, Position
from brain.engine.watching import MAX_BYTES, MAX_EVENTS, WatchStream
from brainapi.session.v1 import session_service_pb2 as pb

AT = Position("running", 1, idle=False)


def durable(seq: int, size: int = 2) -> Emitted:
    return Emitted(seq, "message.user", b"x" * size, idle=False)


def live(size: int = 2) -> Emitted:
    return Emitted(0, "message.delta", b"x" * size, idle=False)


@pytest.fixture
def fanout() -> Fanout:
    return Fanout()


@pytest.fixture
def stream(fanout: Fanout) -> WatchStream:
    return WatchStream(fanout)


async def gathered(stream: WatchStream) -> list[pb.WatchItem]:
    """All that waits on the stream now."""
    stream.finish()
    return [item async for batch in stream.batches() for item in batch.items]


def kinds(items: list[pb.WatchItem]) -> list[str | None]:
    return [item.WhichOneof("item") for item in items]


async def test_what_happens_comes_after_the_place_where_the_watch_begins(
    fanout: Fanout, stream: WatchStream
) -> None:
    fanout.publish("ses_1", [durable(1)])
    stream.subscribe(7, "ses_1", AT)
    fanout.publish("ses_1", [live(), durable(2)])
    fanout.publish("ses_other", [durable(9)])
    items = await gathered(stream)

    assert kinds(items) == ["subscribed", "event", "event"]
    assert (items[0].subscribed.watch_id, items[0].subscribed.last_seq) == (7, 1)
    assert [item.event.seq for item in items[1:]] == [0, 2]


async def test_several_watches_of_a_session_get_each_event_once(
    fanout: Fanout, stream: WatchStream
) -> None:
    stream.subscribe(1, "ses_1", AT)
    stream.subscribe(2, "ses_1", AT)
    fanout.publish("ses_1", [durable(2)])
    stream.unsubscribe(1)
    fanout.publish("ses_1", [durable(3)])
    stream.unsubscribe(2)
    fanout.publish("ses_1", [durable(4)])
    items = await gathered(stream)

    assert [item.event.seq for item in items if item.HasField("event")] == [2, 3]
    assert not fanout.watched("ses_1")


async def test_a_watch_id_that_is_used_anew_leaves_what_it_followed_before(
    fanout: Fanout, stream: WatchStream
) -> None:
    stream.subscribe(1, "ses_1", AT)
    stream.subscribe(1, "ses_2", AT)
    assert not fanout.watched("ses_1")
    stream.unsubscribe(1)
    assert not fanout.watched("ses_2")


async def test_live_only_events_are_left_out_first(fanout: Fanout, stream: WatchStream) -> None:
    stream.subscribe(1, "ses_1", AT)
    fanout.publish("ses_1", [live() for _ in range(MAX_EVENTS * 2)])
    items = await gathered(stream)

    assert len(items) == MAX_EVENTS
    assert "gap" not in kinds(items)


async def test_a_durable_event_that_does_not_fit_is_a_gap_for_its_session_only(
    fanout: Fanout, stream: WatchStream
) -> None:
    for watch_id, session_id in enumerate(("ses_slow", "ses_other"), start=1):
        stream.subscribe(watch_id, session_id, AT)
    fanout.publish("ses_other", [durable(2)])
    fanout.publish("ses_slow", [durable(2, MAX_BYTES - 100), durable(3, 200), durable(4)])
    fanout.publish("ses_slow", [durable(5)])
    fanout.publish("ses_other", [durable(3)])
    items = await gathered(stream)

    slow = [item for item in items if item.session_id == "ses_slow"]
    assert kinds(slow) == ["subscribed", "gap"], "nothing after a gap until it subscribes again"
    other = [item.event.seq for item in items if item.session_id == "ses_other"]
    assert other == [0, 2, 3]


async def test_a_session_that_ends_says_why_and_is_not_followed_any_more(
    fanout: Fanout, stream: WatchStream
) -> None:
    stream.subscribe(1, "ses_1", AT)
    fanout.publish("ses_1", [durable(2)])
    fanout.end("ses_1", "deleted")
    fanout.publish("ses_1", [durable(3)])
    stream.refuse(2, "ses_none")
    items = await gathered(stream)

    assert kinds(items) == ["subscribed", "event", "ended", "ended"]
    assert items[2].ended.reason == pb.END_REASON_DELETED
    assert items[3].ended.reason == pb.END_REASON_NOT_FOUND
    assert not fanout.watched("ses_1")


async def test_a_message_has_a_sane_size_and_nothing_is_lost_between_two(
    fanout: Fanout, stream: WatchStream
) -> None:
    stream.subscribe(1, "ses_1", AT)
    fanout.publish("ses_1", [durable(seq, 400_000) for seq in range(2, 12)])
    stream.finish()
    batches = [batch async for batch in stream.batches()]

    assert all(batch.ByteSize() < 1_300_000 for batch in batches)
    seqs = [item.event.seq for batch in batches for item in batch.items]
    assert seqs == [0, *range(2, 12)]


async def test_a_stream_that_is_closed_leaves_no_watcher_behind(
    fanout: Fanout, stream: WatchStream
) -> None:
    for watch_id in range(5):
        stream.subscribe(watch_id, f"ses_{watch_id % 3}", AT)
    stream.close()

    assert not any(fanout.watched(f"ses_{number}") for number in range(3))


async def test_a_busy_stream_gathers_and_a_quiet_one_does_not(
    fanout: Fanout, stream: WatchStream
) -> None:
    stream.subscribe(1, "ses_1", AT)
    batches: AsyncIterator[pb.WatchEventsResponse] = stream.batches()
    first = await anext(batches)
    assert kinds(list(first.items)) == ["subscribed"]

    received = messages = 0
    publishing = asyncio.create_task(_publish_one_by_one(fanout, 2000))
    async for batch in batches:
        received += len(batch.items)
        messages += 1
        if received == 2000:
            break
    await publishing
    assert messages < 1000


async def _publish_one_by_one(fanout: Fanout, count: int) -> None:
    for seq in range(2, 2 + count):
        fanout.publish("ses_1", [durable(seq)])
        await asyncio.sleep(0)
