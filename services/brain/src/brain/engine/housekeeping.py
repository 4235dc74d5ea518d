"""What an engine does by itself from time to time. Above: `server`. Below: `session`."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import structlog
from msgspec import Struct

from brain.engine.log.protocol import LogUnavailable
from brain.engine.session.manager import SessionManager
from brain_core.clock import Clock, rfc3339

_log = structlog.get_logger(__name__)
_LOOK_SECONDS = 1.0
"""How soon the engine sees by itself that its log has failed, or is there again, and what other
engines have left."""
_ERASE_SECONDS = 3600.0


class Times(Struct, frozen=True):
    """Seconds: after which a session rests in which nothing happens, and how long tool calls that
    are in flight may go on when the engine stops. Closed sessions are erased after `retention`
    days, or never."""

    rest_after: float
    shutdown_grace: float
    retention_days: int | None = None


class Housekeeping:
    """Runs until it is cancelled."""

    def __init__(
        self,
        manager: SessionManager,
        times: Times,
        clock: Clock,
        tell_health: Callable[[], Awaitable[None]],
    ) -> None:
        self._manager = manager
        self._times = times
        self._clock = clock
        self._tell_health = tell_health
        self._rested = clock.monotonic()
        self._erased: float | None = None
        self._forgotten = clock.monotonic()

    async def run(self) -> None:
        """Go round for ever."""
        while True:
            await self._erase_old_sessions()
            await self._forget_answers()
            await asyncio.sleep(min(_LOOK_SECONDS, self._times.rest_after))
            await self._tell_health()
            await self._manager.mend()
            await self._look_at_others()
            await self._let_rest()

    async def _look_at_others(self) -> None:
        """Take over what others have left, and see what they have taken over from us."""
        try:
            if not self._manager.lease_holds():
                await self._manager.look_for_losses()
            await self._manager.recover()
        except LogUnavailable as error:
            _log.error("takeover_failed", error=str(error))

    async def _let_rest(self) -> None:
        now = self._clock.monotonic()
        if now - self._rested >= self._times.rest_after:
            await self._manager.let_rest()
            self._rested = now

    async def _forget_answers(self) -> None:
        now = self._clock.monotonic()
        if now - self._forgotten < _ERASE_SECONDS:
            return
        self._forgotten = now
        try:
            await self._manager.forget_answers()
        except LogUnavailable as error:
            _log.error("answers_not_forgotten", error=str(error))

    async def _erase_old_sessions(self) -> None:
        days, now = self._times.retention_days, self._clock.monotonic()
        if days is None or (self._erased is not None and now - self._erased < _ERASE_SECONDS):
            return
        self._erased = now
        before = rfc3339(self._clock.now() - timedelta(days=days))
        try:
            erased = await self._manager.erase_closed_before(before)
        except LogUnavailable as error:
            _log.error("retention_failed", error=str(error))
        else:
            if erased:
                _log.info("sessions_erased", sessions=erased, closed_before=before)
