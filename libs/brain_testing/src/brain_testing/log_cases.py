"""What every event log must do: the cases, for whichever log a test module brings.

A test module subclasses `EventLogCases` and gives a fixture `log`. Above: tests of SQLite, and of
every later store. Below: `brain.engine.log.protocol`.
"""

import asyncio
from typing import Any

import pytest
from msgspec import Raw

from brain.engine.log.protocol import Append, EventLog, SessionRecord, StaleOwner, StoredEvent
from brain_core import ids
from brain_core.session import Budget, SessionConfig, Status
from brain_core.usage import Usage

NOW = "2026-12-01T09:00:00.000Z"
LATER = "2026-12-01T09:00:01.000Z"


def record(tenant_id: str = "local", session_id: str | None = None) -> SessionRecord:
    """A new session's record."""
    return SessionRecord(
        id=session_id or ids.session_id(),
        tenant_id=tenant_id,
        harness="pi",
        config=SessionConfig("demo/script", ("echo",), "Be brief.", budget=Budget(tokens=5)),
        metadata=Raw(b'{"n":12345678901234567890,"b":1.0,"a":"\xc3\xa9"}'),
        status="idle",
        open=False,
        created_at=NOW,
        updated_at=NOW,
        last_seq=1,
        usage=Usage(),
    )


def event(seq: int, body: bytes = b"{}") -> StoredEvent:
    """An event as the journal encodes it; its content is nothing to a log."""
    return StoredEvent(seq, "message.user", body)


def append(session_id: str, *events: StoredEvent, epoch: int = 1, **changes: Any) -> Append:
    """An append of these events."""
    fields: dict[str, Any] = {
        "status": "running",
        "open": True,
        "updated_at": LATER,
        "usage": Usage(1, 2, cost_usd=0.5),
        **changes,
    }
    return Append(session_id=session_id, epoch=epoch, events=events, **fields)


async def created(log: EventLog, tenant_id: str = "local") -> str:
    """A session with its first event; its epoch is 1."""
    new = record(tenant_id)
    assert await log.create(new, event(1)) == 1
    return new.id


async def seqs(log: EventLog, session_id: str) -> list[int]:
    """The sequence numbers that the log holds of a session."""
    return [each.seq for each in (await log.read(session_id, 0, 1000)).events]


class EventLogCases:
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
        epoch = await log.claim(session_id)
        assert epoch is not None
        assert epoch > 1

        with pytest.raises(StaleOwner):
            await log.append(append(session_id, event(2), epoch=1))
        with pytest.raises(StaleOwner):
            await log.delete(session_id, 1)
        await log.append(append(session_id, event(2), epoch=epoch))
        assert await seqs(log, session_id) == [1, 2]

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

    async def test_a_page_ends_at_its_limit_and_says_that_there_is_more(
        self, log: EventLog
    ) -> None:
        session_id = await created(log)
        await log.append(append(session_id, *(event(seq) for seq in range(2, 11))))

        first = await log.read(session_id, 0, 4)
        assert ([each.seq for each in first.events], first.has_more) == ([1, 2, 3, 4], True)
        last = await log.read(session_id, 6, 4)
        assert ([each.seq for each in last.events], last.has_more) == ([7, 8, 9, 10], False)
        assert await log.read(session_id, 10, 4) == ([], False)

    async def test_a_page_ends_at_its_bytes_but_one_event_is_always_whole(
        self, log: EventLog
    ) -> None:
        session_id = await created(log)
        await log.append(append(session_id, *(event(seq, b"x" * 400) for seq in (2, 3, 4))))

        page = await log.read(session_id, 1, 10, max_bytes=900)
        assert ([each.seq for each in page.events], page.has_more) == ([2, 3], True)
        page = await log.read(session_id, 1, 10, max_bytes=10)
        assert ([each.seq for each in page.events], page.has_more) == ([2], True)

    @pytest.mark.requirement("SES-04")
    async def test_sessions_are_listed_newest_first_page_by_page(self, log: EventLog) -> None:
        made = [await created(log) for _ in range(7)]
        await created(log, "other")

        seen: list[str] = []
        cursor: str | None = None
        while True:
            page = await log.list_sessions("local", 3, cursor, None)
            seen += [each.id for each in page.sessions]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert seen == made[::-1]

    async def test_sessions_are_listed_by_status(self, log: EventLog) -> None:
        idle, closed = await created(log), await created(log)
        await log.append(append(closed, event(2), status="closed", open=False))

        by_status = {
            status: [
                each.id for each in (await log.list_sessions("local", 9, None, status)).sessions
            ]
            for status in ("idle", "running", "closed")
        }
        assert by_status == {"idle": [idle], "running": [], "closed": [closed]}

    async def test_sessions_with_work_are_found(self, log: EventLog) -> None:
        await created(log)
        working, done = await created(log), await created(log)
        await log.append(append(working, event(2)))
        await log.append(append(done, event(2)))
        await log.append(append(done, event(3), status="idle", open=False))

        assert list(await log.open_sessions()) == [working]

    @pytest.mark.requirement("SES-04")
    async def test_a_deleted_session_leaves_nothing(self, log: EventLog) -> None:
        kept, deleted = await created(log), await created(log)
        await log.delete(deleted, 1)

        assert await log.get(deleted) is None
        assert await seqs(log, deleted) == []
        assert await seqs(log, kept) == [1]
        with pytest.raises(StaleOwner):
            await log.append(append(deleted, event(2)))

    async def test_it_answers_a_ping(self, log: EventLog) -> None:
        await log.ping()
