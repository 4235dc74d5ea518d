"""What every event log must do with answers to requests that have an idempotency key.

Above: `log_cases`. Below: `brain.engine.log.protocol`.
"""

import asyncio

import pytest

from brain.engine.log.protocol import EventLog, KeyTaken, ModelUsage, StaleOwner
from brain_core.usage import Usage
from brain_testing.log_values import LATER, NOW, answer, append, created, event, record, seqs

LATEST = "2026-12-03T00:00:00.000Z"


class AnswerCases:
    """The cases."""

    @pytest.mark.requirement("API-03")
    async def test_an_answer_is_kept_with_the_session_that_it_tells_of(self, log: EventLog) -> None:
        new = record()
        kept = answer("k", new.id)
        assert await log.answered("local", "k") is None
        assert await log.create(new, event(1), kept) == 1

        assert await log.answered("local", "k") == kept
        assert await log.get(new.id) == new
        assert await log.answered("other", "k") is None
        assert await log.answered("local", "K") is None

    @pytest.mark.requirement("API-03")
    async def test_a_key_that_is_taken_makes_no_session(self, log: EventLog) -> None:
        first, second = record(), record()
        await log.create(first, event(1), answer("k", first.id))
        with pytest.raises(KeyTaken):
            await log.create(second, event(1), answer("k", second.id))

        assert await log.get(second.id) is None
        assert await log.answered("local", "k") == answer("k", first.id)
        other = record("other")
        await log.create(other, event(1), answer("k", other.id, "other"))

    @pytest.mark.requirement("API-03")
    async def test_of_many_creations_with_one_key_one_makes_a_session(self, log: EventLog) -> None:
        new = [record() for _ in range(20)]
        wanted = [log.create(each, event(1), answer("k", each.id)) for each in new]
        plain = record()
        wanted.append(log.create(plain, event(1)))
        done = await asyncio.gather(*wanted, return_exceptions=True)

        assert done.pop() == 1
        assert await log.get(plain.id) == plain
        assert done.count(1) == 1
        assert all(isinstance(each, KeyTaken) for each in done if each != 1)
        kept = await log.answered("local", "k")
        assert kept is not None
        assert kept.session_id == new[done.index(1)].id
        page = await log.list_sessions("local", 50, None, None)
        assert {each.id for each in page.sessions} == {kept.session_id, plain.id}

    @pytest.mark.requirement("API-03")
    async def test_answers_are_kept_with_the_events_that_they_tell_of(self, log: EventLog) -> None:
        session_id = await created(log)
        both = answer("a", session_id), answer("b", session_id, answer=b"{}")
        used = ModelUsage("demo/script", Usage(1, 2))
        await log.append(append(session_id, event(2), answers=both, used=used))

        assert await log.answered("local", "a") == both[0]
        assert await log.answered("local", "b") == both[1]
        assert [each.usage for each in await log.usage("local", None, None)] == [Usage(1, 2)]

    @pytest.mark.requirement("API-03")
    async def test_nothing_is_kept_of_events_that_are_refused(self, log: EventLog) -> None:
        session_id = await created(log)
        with pytest.raises(StaleOwner):
            await log.append(append(session_id, event(3), answers=(answer("k", session_id),)))

        assert await log.answered("local", "k") is None

    @pytest.mark.requirement("API-03")
    async def test_an_answer_is_not_written_over_while_its_time_lasts(self, log: EventLog) -> None:
        session_id = await created(log)
        first, again = answer("k", session_id), answer("k", session_id, answer=b"2", kept_at=LATER)
        before = answer("k", session_id, answer=b"1", kept_until=LATEST)
        await log.keep(first)
        await log.keep(before)
        await log.append(append(session_id, event(2), answers=(before,)))
        assert await log.answered("local", "k") == first
        assert await seqs(log, session_id) == [1, 2]

        await log.append(append(session_id, event(3), answers=(again,)))
        assert await log.answered("local", "k") == again

    @pytest.mark.requirement("API-03")
    async def test_a_key_whose_time_is_over_can_make_a_session(self, log: EventLog) -> None:
        first, second = record(), record()
        await log.create(first, event(1), answer("k", first.id))
        later = answer("k", second.id, kept_at=LATER, kept_until=LATEST)
        assert await log.create(second, event(1), later) == 1

        assert await log.answered("local", "k") == later

    @pytest.mark.requirement("API-03")
    async def test_answers_are_forgotten_when_their_time_is_over(self, log: EventLog) -> None:
        session_id = await created(log)
        for name in "abcde":
            await log.keep(answer(name, session_id))
        await log.keep(answer("young", session_id, kept_until=LATEST))

        assert await log.drop_answers(NOW, 10) == 0
        assert await log.drop_answers(LATER, 3) == 3
        assert await log.drop_answers(LATER, 3) == 2
        assert await log.drop_answers(LATER, 3) == 0
        assert await log.answered("local", "a") is None
        assert await log.answered("local", "young") is not None
