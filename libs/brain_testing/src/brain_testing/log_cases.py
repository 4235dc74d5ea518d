"""What every event log must do: the cases, for whichever log a test module brings.

A test module subclasses `EventLogCases` and gives a fixture `log`. Above: tests of SQLite, and of
every later store. Below: `brain.engine.log.protocol`.
"""

import asyncio
import random

import pytest

from brain.engine.log.protocol import EventLog, StaleOwner, StoredEvent
from brain_core import ids
from brain_core.session import Status
from brain_core.usage import Usage
from brain_testing.log_answer_cases import AnswerCases
from brain_testing.log_storm import Storm
from brain_testing.log_values import LATER, append, claimed, created, event, record, seqs


async def listed(
    log: EventLog, tenant_id: str = "local", *, status: Status | None = None, limit: int
) -> list[str]:
    """The ids of a tenant's sessions, page by page."""
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = await log.list_sessions(tenant_id, limit, cursor, status)
        assert len(page.sessions) <= limit
        seen += [each.id for each in page.sessions]
        cursor = page.next_cursor
        if cursor is None:
            return seen


class EventLogCases(AnswerCases):
    """The cases."""

    async def test_a_session_comes_back_as_it_was_made(self, log: EventLog) -> None:
        new = record()
        await log.create(new, event(1, b'{"first":true}'))

        found = await log.get(new.id)
        assert found == new
        assert found is not None
        assert bytes(found.metadata) == bytes(new.metadata)
        assert (await log.read(new.id, 0, 10)).events == [event(1, b'{"first":true}')]

    async def test_an_append_changes_the_record_with_the_events(self, log: EventLog) -> None:
        session_id = await created(log)
        await log.append(append(session_id, event(2), event(3)))

        found = await log.get(session_id)
        assert found is not None
        assert (found.last_seq, found.status, found.open) == (3, "running", True)
        assert (found.updated_at, found.usage) == (LATER, Usage(1, 2, cost_usd=0.5))

    @pytest.mark.requirement("EVT-01")
    async def test_events_come_back_in_order_byte_for_byte(self, log: EventLog) -> None:
        session_id = await created(log)
        bodies = [b'"\xf0\x9f\x99\x82"', b" " * 300_000, b'{"x":1e-7,"y":12345678901234567890}']
        for seq, body in enumerate(bodies, start=2):
            await log.append(append(session_id, event(seq, body)))

        found = (await log.read(session_id, 1, 10)).events
        assert [each.body for each in found] == bodies
        assert [each.seq for each in found] == [2, 3, 4]

    @pytest.mark.requirement("EVT-01")
    async def test_a_gap_is_refused_and_nothing_of_it_stays(self, log: EventLog) -> None:
        session_id = await created(log)
        for wrong in (event(1), event(3), event(4)):
            with pytest.raises(StaleOwner):
                await log.append(append(session_id, wrong))

        assert await seqs(log, session_id) == [1]

    @pytest.mark.requirement("EVT-01")
    async def test_of_several_events_in_one_append_all_are_added_or_none(
        self, log: EventLog
    ) -> None:
        session_id = await created(log)
        for wrong in ((2, 4), (2, 2), (3, 2), (2, 3, 5)):
            with pytest.raises(StaleOwner):
                await log.append(append(session_id, *map(event, wrong)))
        assert await seqs(log, session_id) == [1]

        await log.append(append(session_id, *map(event, range(2, 900))))
        assert await seqs(log, session_id) == list(range(1, 900))

    async def test_a_session_never_shows_its_neighbours_events(self, log: EventLog) -> None:
        sessions = [await created(log) for _ in range(3)]
        for session_id in sessions:
            body = session_id.encode()
            await log.append(append(session_id, event(2, body), event(3, body)))

        for session_id in sessions:
            found = await log.read(session_id, 1, 100)
            assert [each.body for each in found.events] == [session_id.encode()] * 2
            assert not found.has_more

    @pytest.mark.requirement("EVT-01")
    async def test_of_two_appends_in_flight_the_first_called_is_first(self, log: EventLog) -> None:
        session_id = await created(log)
        order: list[int] = []

        async def write(seq: int) -> None:
            await log.append(append(session_id, event(seq)))
            order.append(seq)

        await asyncio.gather(*(write(seq) for seq in range(2, 60)))

        assert order == list(range(2, 60))
        assert await seqs(log, session_id) == list(range(1, 60))

    async def test_one_that_follows_a_refused_one_is_refused_too(self, log: EventLog) -> None:
        session_id = await created(log)
        wrong = log.append(append(session_id, event(2), epoch=7))
        after = log.append(append(session_id, event(3)))

        with pytest.raises(StaleOwner):
            await wrong
        with pytest.raises(StaleOwner):
            await after
        assert await seqs(log, session_id) == [1]

    async def test_a_refused_append_takes_no_other_with_it(self, log: EventLog) -> None:
        good, bad = await created(log), await created(log)
        writes = [
            log.append(append(good, event(2))),
            log.append(append(bad, event(5))),
            log.append(append(good, event(3))),
        ]
        outcomes = await asyncio.gather(*writes, return_exceptions=True)

        assert [type(each) for each in outcomes] == [type(None), StaleOwner, type(None)]
        assert await seqs(log, good) == [1, 2, 3]

    async def test_a_claim_makes_every_earlier_owner_stale(self, log: EventLog) -> None:
        session_id = await created(log)
        epoch = await claimed(log, session_id)
        assert epoch > 1

        with pytest.raises(StaleOwner):
            await log.append(append(session_id, event(2), epoch=1))
        with pytest.raises(StaleOwner):
            await log.delete(session_id, 1)
        await log.append(append(session_id, event(2), epoch=epoch))
        assert await seqs(log, session_id) == [1, 2]

    async def test_what_was_called_before_a_claim_can_be_read_after_it(self, log: EventLog) -> None:
        session_id = await created(log)
        writes = [log.append(append(session_id, event(seq))) for seq in range(2, 30)]
        await log.claim(session_id)

        assert await seqs(log, session_id) == list(range(1, 30))
        await asyncio.gather(*writes)

    async def test_each_claim_gives_a_greater_epoch(self, log: EventLog) -> None:
        session_id = await created(log)
        epochs = [await claimed(log, session_id) for _ in range(3)]

        assert epochs == sorted({1, *epochs})[1:]

    async def test_an_id_is_given_to_one_session_only(self, log: EventLog) -> None:
        first = record("first")
        other = record("second")
        writes = [
            log.create(first, event(1, b'"first"')),
            log.create(record("second", first.id), event(1, b'"second"')),
            log.create(other, event(1)),
        ]
        outcomes = await asyncio.gather(*writes, return_exceptions=True)

        assert [type(each) for each in outcomes] == [int, StaleOwner, int]
        assert await log.get(first.id) == first
        assert (await log.read(first.id, 0, 9)).events == [event(1, b'"first"')]

    async def test_a_session_can_be_appended_to_before_its_creation_is_awaited(
        self, log: EventLog
    ) -> None:
        new = record()
        writes = [log.create(new, event(1)), log.append(append(new.id, event(2)))]

        assert await asyncio.gather(*writes) == [1, None]
        assert await seqs(log, new.id) == [1, 2]

    async def test_what_is_not_there_is_none_or_empty(self, log: EventLog) -> None:
        assert await log.get("ses_none") is None
        assert await log.claim("ses_none") is None
        assert await log.read("ses_none", 0, 10) == ([], False)
        with pytest.raises(StaleOwner):
            await log.append(append("ses_none", event(2)))

    async def test_an_awaiting_task_that_is_cancelled_loses_no_write(self, log: EventLog) -> None:
        session_id = await created(log)

        async def write() -> None:
            await log.append(append(session_id, event(2)))

        task = asyncio.create_task(write())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        await log.append(append(session_id, event(3)))

        assert await seqs(log, session_id) == [1, 2, 3]

    async def test_a_cancelled_write_is_written_in_its_place(self, log: EventLog) -> None:
        session_id = await created(log)
        writes = [
            asyncio.ensure_future(log.append(append(session_id, event(seq))))
            for seq in range(2, 40)
        ]
        for write in writes[::3]:
            write.cancel()
        outcomes = await asyncio.gather(*writes, return_exceptions=True)

        assert {type(each) for each in outcomes[::3]} == {asyncio.CancelledError}
        assert [each for each in outcomes if each is None] == [None] * 25
        assert await seqs(log, session_id) == list(range(1, 40))

    async def test_a_deletion_goes_on_when_nobody_waits_for_it(self, log: EventLog) -> None:
        session_id = await created(log)
        deletion = asyncio.create_task(log.delete(session_id, 1))
        await asyncio.sleep(0)
        deletion.cancel()
        await asyncio.wait([deletion])
        other = await created(log)

        assert await log.claim(session_id) is None
        assert await seqs(log, other) == [1]

    async def test_a_page_ends_at_its_limit_and_says_that_there_is_more(
        self, log: EventLog
    ) -> None:
        session_id = await created(log)
        await log.append(append(session_id, *(event(seq) for seq in range(2, 11))))

        first = await log.read(session_id, 0, 4)
        assert ([each.seq for each in first.events], first.has_more) == ([1, 2, 3, 4], True)
        last = await log.read(session_id, 6, 4)
        assert ([each.seq for each in last.events], last.has_more) == ([7, 8, 9, 10], False)
        for beyond in (10, 11, 2**32, 2**64 - 1):
            assert await log.read(session_id, beyond, 4) == ([], False)

    async def test_a_page_ends_at_its_bytes_but_one_event_is_always_whole(
        self, log: EventLog
    ) -> None:
        session_id = await created(log)
        await log.append(append(session_id, *(event(seq, b"x" * 400) for seq in (2, 3, 4))))

        page = await log.read(session_id, 1, 10, max_bytes=900)
        assert ([each.seq for each in page.events], page.has_more) == ([2, 3], True)
        page = await log.read(session_id, 1, 10, max_bytes=10)
        assert ([each.seq for each in page.events], page.has_more) == ([2], True)

    @pytest.mark.requirement("EVT-01")
    async def test_pages_of_any_size_give_each_event_once(self, log: EventLog) -> None:
        session_id = await created(log)
        sizes = [(seq * 7919) % 3000 for seq in range(2, 80)]
        bodies = [b"x" * size for size in sizes]
        await log.append(append(session_id, *map(event, range(2, 80), bodies)))

        for limit, max_bytes in ((1, 10**6), (7, 5000), (1000, 1), (1000, 2500), (1000, 10**6)):
            found: list[StoredEvent] = []
            after, more = 1, True
            while more:
                page, more = await log.read(session_id, after, limit, max_bytes)
                assert len(page) == 1 or sum(len(each.body) for each in page) <= max_bytes
                found += page
                after = page[-1].seq
            assert [each.body for each in found] == bodies

    @pytest.mark.requirement("SES-04")
    async def test_sessions_are_listed_newest_first_page_by_page(self, log: EventLog) -> None:
        made = [await created(log) for _ in range(7)]
        await created(log, "other")

        assert await listed(log, limit=3) == made[::-1]
        assert await listed(log, "nobody", limit=3) == []

    @pytest.mark.requirement("SES-04")
    async def test_sessions_of_one_millisecond_are_listed_once_each(self, log: EventLog) -> None:
        same_time = ids.session_id()[:14]
        made = [f"{same_time}{number:016x}" for number in range(9)]
        for session_id in made[::2] + made[1::2]:
            await log.create(record(session_id=session_id), event(1))

        for limit in (1, 2, 9):
            assert await listed(log, limit=limit) == made[::-1]

    async def test_a_list_goes_on_after_a_session_that_was_deleted(self, log: EventLog) -> None:
        made = [await created(log) for _ in range(4)]
        page = await log.list_sessions("local", 2, None, None)
        assert page.next_cursor == made[2]
        await log.delete(made[2], 1)

        rest = await log.list_sessions("local", 2, page.next_cursor, None)
        assert [each.id for each in rest.sessions] == [made[1], made[0]]

    async def test_sessions_are_listed_by_status(self, log: EventLog) -> None:
        made = [await created(log) for _ in range(9)]
        idle, closed, running = made[::3], made[1::3], made[2::3]
        for session_id in closed:
            await log.append(append(session_id, event(2), status="closed", open=False))
        for session_id in running:
            await log.append(append(session_id, event(2)))

        assert await listed(log, status="idle", limit=2) == idle[::-1]
        assert await listed(log, status="closed", limit=2) == closed[::-1]
        assert await listed(log, status="running", limit=2) == running[::-1]
        assert await listed(log, "other", status="running", limit=2) == []

    @pytest.mark.requirement("SES-04")
    async def test_a_deleted_session_leaves_nothing(self, log: EventLog) -> None:
        kept, deleted = await created(log), await created(log)
        await log.delete(deleted, 1)

        assert await log.get(deleted) is None
        assert await seqs(log, deleted) == []
        assert await seqs(log, kept) == [1]
        with pytest.raises(StaleOwner):
            await log.append(append(deleted, event(2)))

    @pytest.mark.requirement("SES-04")
    async def test_a_large_session_is_deleted_whole_and_its_neighbours_stay(
        self, log: EventLog
    ) -> None:
        before, deleted, after = [await created(log) for _ in range(3)]
        for session_id in (before, deleted, after):
            await log.append(append(session_id, *map(event, range(2, 1000))))
        await log.delete(deleted, 1)
        with pytest.raises(StaleOwner):
            await log.delete(deleted, 1)

        assert await seqs(log, deleted) == []
        assert await seqs(log, await created(log)) == [1]
        assert await seqs(log, before) == await seqs(log, after) == list(range(1, 1000))

    async def test_writes_in_any_mixture_come_out_as_they_were_called(self, log: EventLog) -> None:
        for seed in range(5):
            storm = Storm(log, random.Random(seed))
            for _ in range(30):
                await storm.blow()
            await storm.check()

    async def test_it_answers_a_ping(self, log: EventLog) -> None:
        await log.ping()
