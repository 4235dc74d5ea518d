"""Writes of every kind, right and wrong, against a model of what a log must make of them.

Above: `log_cases`. Below: `brain.engine.log.protocol`.
"""

import asyncio
from collections.abc import Awaitable
from random import Random

from msgspec import Struct

from brain.engine.log.protocol import EventLog, StaleOwner, StoredEvent
from brain_testing.log_values import append, claimed, event, record


class _Session(Struct):
    """A session as it must be; the epochs that it has had."""

    epochs: list[int]
    events: list[StoredEvent]


class Storm:
    """Makes writes and knows their outcomes, from the order of the calls alone."""

    def __init__(self, log: EventLog, random: Random) -> None:
        self._log = log
        self._random = random
        self._sessions: dict[str, _Session] = {}
        self._deleted: list[str] = []
        self._waiting: list[tuple[Awaitable[object], type | None]] = []

    async def blow(self) -> None:
        """Some writes, called without waiting, then a check of their outcomes."""
        for _ in range(self._random.randrange(1, 25)):
            self._random.choice((self._create, *[self._append] * 8))()
        await self._settle()
        if self._sessions:
            await self._random.choice((self._claim, self._claim, self._delete))()

    async def check(self) -> None:
        """Everything is there as it must be, and nothing else."""
        for session_id, session in self._sessions.items():
            assert await self._log.read(session_id, 0, 10_000) == (session.events, False)
            found = await self._log.get(session_id)
            assert found is not None
            assert found.last_seq == len(session.events)
        for session_id in self._deleted:
            assert await self._log.get(session_id) is None

    def _create(self) -> None:
        new, first = record(), event(1, b'{"first":true}')
        self._sessions[new.id] = _Session([1], [first])
        self._waiting.append((self._log.create(new, first), None))

    def _append(self) -> None:
        chosen = self._random.choice([*self._sessions, *self._deleted[-2:], "ses_none"])
        session = self._sessions.get(chosen, _Session([1], []))
        epoch = self._random.choice([session.epochs[-1]] * 5 + session.epochs)
        first = len(session.events) + self._random.choice([1] * 8 + [0, 2])
        several = range(first, first + self._random.randrange(1, 5))
        events = [event(seq, self._random.randbytes(40).hex().encode()) for seq in several]
        right = first == len(session.events) + 1 and epoch == session.epochs[-1]
        if right and chosen in self._sessions:
            session.events += events
        stale = None if right and chosen in self._sessions else StaleOwner
        self._waiting.append((self._log.append(append(chosen, *events, epoch=epoch)), stale))

    async def _settle(self) -> None:
        waiting, self._waiting = self._waiting, []
        outcomes = await asyncio.gather(*(each for each, _ in waiting), return_exceptions=True)
        for outcome, (_, expected) in zip(outcomes, waiting, strict=True):
            assert isinstance(outcome, expected or int | None)

    async def _claim(self) -> None:
        session_id = self._random.choice([*self._sessions])
        epoch = await claimed(self._log, session_id)
        self._sessions[session_id].epochs.append(epoch)

    async def _delete(self) -> None:
        session_id = self._random.choice([*self._sessions])
        await self._log.delete(session_id, self._sessions.pop(session_id).epochs[-1])
        self._deleted.append(session_id)
