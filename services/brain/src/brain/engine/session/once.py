"""Requests with an idempotency key take effect once. Above: `manager`. Below: `EventLog`.

What a request does and what it is answered are committed together. So one that comes again, also
after a crash, finds its answer in the log, or has done nothing. Two that come at once are one after
the other. What is refused is not kept: it did nothing, and may be tried again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from brain.engine.log.protocol import EventLog, KeptAnswer, KeyTaken
from brain.engine.session.answers import Attempt
from brain.engine.session.refused import Refused, key_reused
from brain_core.clock import Clock, rfc3339

_T = TypeVar("_T")


class Once:
    """The attempts of one engine."""

    def __init__(self, log: EventLog, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._running: dict[tuple[str, str], asyncio.Task[Any]] = {}

    async def run(self, attempt: Attempt | None, work: Callable[[], Awaitable[_T]]) -> _T:
        """What `work` gives, once no other attempt with the key is under way.

        The work goes on to its end though nobody waits for it any more: only then does the next
        attempt look for its answer.
        """
        if attempt is None:
            return await work()
        name = (attempt.tenant_id, attempt.key)
        while name in self._running:
            await asyncio.wait([self._running[name]])
        task = asyncio.create_task(_until_settled(work))
        self._running[name] = task
        task.add_done_callback(lambda done: self._ended(name, done))
        return await asyncio.shield(task)

    async def earlier(self, attempt: Attempt | None) -> KeptAnswer | Refused | None:
        """What an earlier attempt was answered; None if there was none, or its time is over.

        Ask only once nobody else can act for the key: as the session's owner, and within `run`.
        """
        if attempt is None:
            return None
        kept = await self._log.answered(attempt.tenant_id, attempt.key)
        if kept is None or kept.kept_until <= rfc3339(self._clock.now()):
            return None
        if kept.fingerprint != attempt.fingerprint:
            return key_reused()
        attempt.replayed = True
        return kept

    async def forget(self) -> None:
        """Forget the answers whose time is over, in steps. Raises: LogUnavailable."""
        now = rfc3339(self._clock.now())
        while await self._log.drop_answers(now, _FORGOTTEN_AT_ONCE) == _FORGOTTEN_AT_ONCE:
            pass

    async def stop(self) -> None:
        """Wait for nothing more."""
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _ended(self, name: tuple[str, str], task: "asyncio.Task[Any]") -> None:
        del self._running[name]
        if not task.cancelled():
            task.exception()  # whoever waited has it, if anyone still did


_FORGOTTEN_AT_ONCE = 500


async def _until_settled(work: Callable[[], Awaitable[_T]]) -> _T:
    """Do it; if another engine was faster with the key, look for what that one did."""
    while True:
        try:
            return await work()
        except KeyTaken:
            continue
