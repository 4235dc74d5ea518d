"""This engine's lease in Postgres, which it renews by itself. Above: `postgres`, `postgres_writes`.

Below: `postgres_connections`. A lease is a row of `engines`, by the database's clock. While it is
there the engine owns what it has claimed, even when it has lapsed: only once another engine has
ended it can others take anything over. Whoever finds its row gone goes on under another id.
"""

import asyncio
import math
import time
import uuid

import structlog
from msgspec import Struct

from brain.engine.log import queries
from brain.engine.log.postgres_connections import Line
from brain.engine.log.postgres_errors import FAILED, reason, unavailable

_Q = queries.load("postgres_queries.sql")
_log = structlog.get_logger(__name__)


class LeaseTimes(Struct, frozen=True):
    """Seconds: how long a lease is, and how often it is renewed.

    Others take over once it has lapsed and one of them has looked: within 15 s, on a machine that
    has much else to do, too.
    """

    length: float = 6.0
    renewal: float = 1.0


class EngineLease:
    """The lease. `engine_id` is whose it is now, and the owner of what is claimed now."""

    def __init__(self, url: str, address: str, times: LeaseTimes) -> None:
        self.engine_id = ""
        self._address = address
        self._times = times
        self._line = Line(url)
        self._ends = -math.inf
        self._renewed = -math.inf
        self._steady_since = math.inf
        self._whole = True
        self._alone = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Put the engine to work. Raises one of `FAILED`."""
        await self._begin_another()
        self._task = asyncio.create_task(self._keep())

    def ends(self) -> float:
        """Until when, as `time.monotonic` counts, nobody can have taken anything over.

        After another engine has ended it, it is over until `nothing_lost`.
        """
        return self._ends if self._whole else -math.inf

    def nothing_lost(self, engine_id: str) -> None:
        """Whoever uses the log has let go of everything that this id doesn't own."""
        self._whole = self._whole or engine_id == self.engine_id

    def steady(self) -> bool:
        """Whether it has been renewed in time for a while.

        Only then can this engine say of others that they have not: after Postgres has been away,
        everyone first gets the time to come back.
        """
        now, a_while = time.monotonic(), self._a_while
        return now - self._renewed < a_while < now - self._steady_since

    @property
    def _a_while(self) -> float:
        return self._times.length / 2

    async def renew(self) -> None:
        """Renew it now. Raises: LogUnavailable."""
        async with self._alone:
            try:
                await self._renew()
            except FAILED as error:
                self._line.drop()
                raise unavailable(error) from error

    async def end(self) -> None:
        """Own nothing any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        async with self._alone:
            try:
                connection = await self._line.connection()
                await connection.execute(_Q["end_lease"], self.engine_id)
            except FAILED as error:
                _log.warning("lease_not_ended", reason=reason(error))
            self._ends = -math.inf
        await self._line.close()

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(self._times.renewal)
            try:
                await self.renew()
            except Exception as error:  # noqa: BLE001 - it must never end by itself
                _log.warning("lease_not_renewed", error=str(error))

    async def _renew(self) -> None:
        connection = await self._line.connection()
        before = time.monotonic()
        wanted = (self.engine_id, self._times.length)
        timeout = self._times.length / 2
        if not await connection.fetchval(_Q["renew_lease"], *wanted, timeout=timeout):
            await self._begin_another()
            self._whole = False
            _log.warning("lease_lost", engine_id=self.engine_id)
            return
        if before - self._renewed > self._a_while:
            self._steady_since = before
        self._renewed_at(before)

    async def _begin_another(self) -> None:
        engine_id = uuid.uuid4().hex
        connection = await self._line.connection()
        before = time.monotonic()
        wanted = (engine_id, self._address, self._times.length)
        await connection.execute(_Q["begin_lease"], *wanted)
        self.engine_id = engine_id
        self._steady_since = before
        self._renewed_at(before)

    def _renewed_at(self, before: float) -> None:
        # The database read its clock after we read ours, which so is the first to say it's over.
        self._renewed, self._ends = before, before + self._times.length
