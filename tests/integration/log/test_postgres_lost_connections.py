"""Postgres goes away, at any moment: what is acknowledged is there, and nothing is there twice."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from brain.engine.log.postgres import open_postgres
from brain.engine.log.protocol import EventLog, LogUnavailable
from brain_testing.log_values import append, claimed, created, event, record, seqs
from brain_testing.postgres import PostgresServer
from brain_testing.postgres_cut import Cut, cut_before

pytestmark = pytest.mark.requirement("REC-01", "REC-05")


@pytest.fixture
async def way(postgres_server: PostgresServer) -> AsyncGenerator[Cut]:
    async with cut_before(postgres_server) as opened:
        yield opened


@pytest.fixture
async def log(
    postgres_server: PostgresServer, postgres_database: str, way: Cut
) -> AsyncGenerator[EventLog]:
    """A log whose way to Postgres can be cut."""
    url = postgres_server.url(postgres_database, folder=way.folder)
    opened = await open_postgres(url, "unix:/engine.sock")
    yield opened
    way.blocked = False
    await opened.close()


async def test_reads_and_writes_go_on_over_new_connections(log: EventLog, way: Cut) -> None:
    session_id = await created(log)
    for seq in range(2, 12):
        way.cut()
        await log.append(append(session_id, event(seq)))
        way.cut()
        assert await seqs(log, session_id) == list(range(1, seq + 1))
        await log.ping()


async def test_an_append_whose_answer_is_lost_is_there_once(log: EventLog, way: Cut) -> None:
    session_id = await created(log)
    for seq in range(2, 8):
        way.lose_the_answer_to(b'{"lost":')
        await log.append(append(session_id, event(seq, b'{"lost":true}')))

    assert way.lost == 6
    assert await seqs(log, session_id) == list(range(1, 8))


async def test_of_appends_whose_answer_is_lost_each_is_there_once(log: EventLog, way: Cut) -> None:
    sessions = [await created(log) for _ in range(20)]
    way.lose_the_answer_to(b'{"lost":')
    writes = [
        log.append(append(session_id, event(seq, b'{"lost":true}')))
        for seq in (2, 3, 4)
        for session_id in sessions
    ]
    await asyncio.gather(*writes)

    assert way.lost == 1
    assert [await seqs(log, each) for each in sessions] == [[1, 2, 3, 4]] * 20


async def test_a_session_whose_creation_is_not_answered_is_there_once(
    log: EventLog, way: Cut
) -> None:
    way.lose_the_answer_to(b'{"lost":')
    new = record()

    assert await log.create(new, event(1, b'{"lost":true}')) == 1
    assert (await log.get(new.id), way.lost) == (new, 1)
    await log.append(append(new.id, event(2)))


async def test_a_deletion_whose_answer_is_lost_succeeds(log: EventLog, way: Cut) -> None:
    session_id = await created(log)
    other = await created(log)
    way.lose_the_answer_to(session_id.encode())
    await log.delete(session_id, 1)

    assert (await log.get(session_id), way.lost) == (None, 1)
    assert await seqs(log, other) == [1]


async def test_a_claim_whose_answer_is_lost_still_gives_an_epoch_that_counts(
    log: EventLog, way: Cut
) -> None:
    session_id = await created(log)
    way.lose_the_answer_to(session_id.encode())
    epoch = await claimed(log, session_id)

    assert way.lost == 1
    await log.append(append(session_id, event(2), epoch=epoch))


async def test_writes_wait_for_a_postgres_that_is_away_and_then_fail(
    log: EventLog, way: Cut
) -> None:
    session_id, waits = await created(log), await created(log)
    way.blocked = True
    way.cut()
    writes = [log.append(append(session_id, event(seq))) for seq in (2, 3)]
    outcomes = await asyncio.gather(*writes, return_exceptions=True)

    assert [type(each) for each in outcomes] == [LogUnavailable] * 2
    with pytest.raises(LogUnavailable):
        await log.read(session_id, 0, 10)
    with pytest.raises(LogUnavailable):
        await log.ping()
    with pytest.raises(LogUnavailable):
        await log.append(append(waits, event(2)))
    way.blocked = False
    await log.append(append(session_id, event(2)))
    assert await seqs(log, session_id) == [1, 2]
    await log.append(append(waits, event(2)))


async def test_errors_tell_no_address(log: EventLog, way: Cut) -> None:
    session_id = await created(log)
    way.blocked = True
    way.cut()
    for use in (log.get(session_id), log.ping(), log.claim(session_id)):
        with pytest.raises(LogUnavailable) as raised:
            await use
        said = str(raised.value)
        assert said.startswith("Postgres can't be reached: ")
        assert not any(word in said for word in (str(way.folder), "brain@", "test_", "host"))


async def test_a_server_that_crashes_under_load_keeps_what_it_acknowledged(
    own_server: PostgresServer,
) -> None:
    log = await open_postgres(own_server.url("postgres"), "unix:/engine.sock")
    sessions = [await created(log) for _ in range(8)]
    acknowledged = dict.fromkeys(sessions, 1)

    async def write(session_id: str) -> None:
        for seq in range(2, 60):
            await log.append(append(session_id, event(seq)))
            acknowledged[session_id] = seq

    writing = [asyncio.create_task(write(session_id)) for session_id in sessions]
    for _ in range(2):
        await asyncio.to_thread(own_server.stop, crash=True)
        await asyncio.to_thread(own_server.start)
    await asyncio.gather(*writing)

    assert set(acknowledged.values()) == {59}
    assert [await seqs(log, each) for each in sessions] == [list(range(1, 60))] * 8
    await log.close()
