"""Several engines on one Postgres: a session has one owner, and a new one when that is gone."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from brain.engine.log.postgres import open_postgres
from brain.engine.log.postgres_lease import LeaseTimes
from brain.engine.log.protocol import (
    Claimed,
    EventLog,
    LogUnavailable,
    ModelUsage,
    OwnedElsewhere,
    StaleOwner,
)
from brain_core.usage import Usage
from brain_testing.log_values import append, claimed, created, event, record, seqs
from brain_testing.postgres import PostgresServer
from brain_testing.postgres_cut import cut_before

pytestmark = pytest.mark.requirement("REC-05")

SHORT = LeaseTimes(length=0.8, renewal=0.1)
Open = Callable[..., Awaitable[EventLog]]


@pytest.fixture
async def open_log(postgres_url: str) -> AsyncGenerator[Open]:
    """Opens an engine's log: `await open_log("address")`, over another way with `url`."""
    async with AsyncExitStack() as stack:

        async def open_one(
            address: str, url: str = postgres_url, times: LeaseTimes = SHORT
        ) -> EventLog:
            log = await open_postgres(url, address, times)
            stack.push_async_callback(log.close)
            return log

        yield open_one


async def working(log: EventLog) -> str:
    """A session with work in it, at seq 2."""
    session_id = await created(log)
    await log.append(append(session_id, event(2)))
    return session_id


async def until_claimed(log: EventLog) -> list[Claimed]:
    """What an engine takes over, once there is something."""
    async with asyncio.timeout(20):
        while True:
            found = await log.claim_open(100)
            if found:
                return list(found)
            await asyncio.sleep(0.02)


async def until_lapsed(log: EventLog) -> None:
    async with asyncio.timeout(20):
        while time.monotonic() < log.lease_ends():
            await asyncio.sleep(0.02)


def test_a_lease_leaves_others_time_to_take_over_within_fifteen_seconds() -> None:
    times = LeaseTimes()
    assert times.length + times.renewal <= 8, "the rest is for looking, and for waking sessions"
    assert 4 * times.renewal < times.length, "some renewals may be late, and nothing is lost"


async def test_a_session_of_one_engine_is_not_given_to_another(open_log: Open) -> None:
    one, other = await open_log("unix:/one.sock"), await open_log("unix:/other.sock")
    session_id = await working(one)

    assert await other.claim(session_id) == OwnedElsewhere("unix:/one.sock")
    assert await other.claim_open(10) == ()
    with pytest.raises(StaleOwner):
        await other.append(append(session_id, event(3)))
    with pytest.raises(StaleOwner):
        await other.delete(session_id, 1)
    await other.release(session_id, 1)
    await one.append(append(session_id, event(3)))
    assert await seqs(other, session_id) == [1, 2, 3]


async def test_a_session_that_was_let_go_is_anyones(open_log: Open) -> None:
    one, other = await open_log("unix:/one.sock"), await open_log("unix:/other.sock")
    idle, busy = await created(one), await working(one)
    for session_id in (idle, busy):
        await one.release(session_id, 1)

    assert await other.claim_open(10) == [Claimed(busy, 2)]
    assert await claimed(other, idle) == 2
    for session_id, seq in ((idle, 2), (busy, 3)):
        with pytest.raises(StaleOwner):
            await one.append(append(session_id, event(seq)))
        await other.append(append(session_id, event(seq), epoch=2))
    assert set(await one.lost([Claimed(idle, 1), Claimed(busy, 1)])) == {idle, busy}
    assert await other.lost([Claimed(idle, 2), Claimed(busy, 2)]) == []


async def test_an_engine_that_stops_leaves_everything_at_once(open_log: Open) -> None:
    one, other = await open_log("unix:/one.sock"), await open_log("unix:/other.sock")
    sessions = [await working(one) for _ in range(3)]
    await created(one)
    await one.close()

    assert await other.claim_open(2) == [Claimed(each, 2) for each in sessions[:2]]
    assert await other.claim_open(2) == [Claimed(sessions[2], 2)]
    assert await other.claim_open(2) == ()


async def test_each_of_many_orphans_goes_to_one_engine(open_log: Open) -> None:
    gone = await open_log("unix:/gone.sock")
    sessions = [await working(gone) for _ in range(60)]
    await gone.close()
    engines = [await open_log(f"unix:/{number}.sock") for number in range(4)]
    found = await asyncio.gather(*(log.claim_open(25) for log in engines for _ in range(4)))
    found.append(await until_none(engines[0]))

    assert sorted(each.session_id for some in found for each in some) == sessions
    assert {each.epoch for some in found for each in some} == {2}


async def until_none(log: EventLog) -> list[Claimed]:
    """Everything that is left."""
    left: list[Claimed] = []
    while some := await log.claim_open(100):
        left += some
    return left


async def test_an_engine_that_is_cut_off_is_taken_over_and_knows_it_when_it_is_back(
    open_log: Open, postgres_server: PostgresServer, postgres_database: str
) -> None:
    async with cut_before(postgres_server) as way:
        url = postgres_server.url(postgres_database, folder=way.folder)
        one, other = await open_log("unix:/one.sock", url), await open_log("unix:/other.sock")
        session_id, idle = await working(one), await created(one)
        way.blocked = True
        way.cut()
        assert await until_claimed(other) == [Claimed(session_id, 2)]
        await until_lapsed(one)
        way.blocked = False

        with pytest.raises((StaleOwner, LogUnavailable)):
            await one.append(append(session_id, event(3)))
        owned = [Claimed(session_id, 1), Claimed(idle, 1)]
        async with asyncio.timeout(20):
            while set(await one.lost(owned)) != {session_id, idle}:
                await asyncio.sleep(0.02)
        await one.ping()
        assert one.lease_ends() < time.monotonic()
        await one.lost([])
        assert time.monotonic() < one.lease_ends()

        assert await one.claim(session_id) == OwnedElsewhere("unix:/other.sock")
        assert await claimed(one, idle) == 2
        await other.append(append(session_id, event(3), epoch=2))
        assert await other.claim(await created(one)) == OwnedElsewhere("unix:/one.sock")


async def test_a_lost_lease_holds_again_only_once_nothing_lost_is_held(
    open_log: Open, postgres_server: PostgresServer, postgres_database: str
) -> None:
    one = await open_log("unix:/one.sock")
    session_id = await working(one)
    await postgres_server.execute("DELETE FROM brain.engines", postgres_database)
    await one.ping()

    assert one.lease_ends() < time.monotonic()
    with pytest.raises(StaleOwner):
        await one.append(append(session_id, event(3)))
    assert await one.lost([Claimed(session_id, 1)]) == [session_id]
    assert one.lease_ends() < time.monotonic()
    assert await one.lost([]) == []
    assert one.lease_ends() > time.monotonic()
    await one.append(append(session_id, event(3), epoch=await claimed(one, session_id)))


async def test_nobody_loses_anything_while_postgres_is_away_for_all(
    own_server: PostgresServer, open_log: Open
) -> None:
    url = own_server.url("postgres")
    one, other = await open_log("unix:/one.sock", url), await open_log("unix:/other.sock", url)
    sessions = {log: await working(log) for log in (one, other)}
    await asyncio.to_thread(own_server.stop)
    for log in (one, other):
        await until_lapsed(log)
    await asyncio.to_thread(own_server.start)
    assert await one.claim_open(10) == await other.claim_open(10) == ()
    for log in (one, other):
        async with asyncio.timeout(20):
            while time.monotonic() >= log.lease_ends():
                await asyncio.sleep(0.02)

    for log, session_id in sessions.items():
        await log.append(append(session_id, event(3)))
        assert await log.lost([Claimed(session_id, 1)]) == []


async def test_no_two_statements_ever_wait_for_each_other(
    open_log: Open, postgres_server: PostgresServer, postgres_database: str
) -> None:
    engines = [await open_log(f"unix:/{number}.sock", times=LeaseTimes()) for number in range(3)]
    new = [record("tenant", None) for _ in range(12)]

    async def write(log: EventLog, turn: int) -> None:
        """All that lock several rows, in an order of its own: most of it is stale."""
        order = new[turn:] + new[:turn]
        for seq in range(2, 30):
            used = ModelUsage(f"model-{(seq + turn) % 7}", Usage(1, 1))
            writes = [log.append(append(each.id, event(seq), used=used)) for each in order]
            made = [log.create(record(f"tenant-{n % 3}"), event(1)) for n in range(turn, turn + 3)]
            await asyncio.gather(*writes, *made, return_exceptions=True)
            await log.claim_open(5)
            await log.release(order[0].id, seq)

    for each, log in zip(new, engines * 4, strict=True):
        await log.create(each, event(1))
    await asyncio.gather(*(write(log, 4 * number) for number, log in enumerate(engines)))

    deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    await postgres_server.execute("SELECT pg_stat_force_next_flush()", postgres_database)
    assert await postgres_server.execute(deadlocks, postgres_database) == 0
    for each in new:
        found = await engines[0].get(each.id)
        assert found is not None
        assert await seqs(engines[0], each.id) == list(range(1, found.last_seq + 1))
