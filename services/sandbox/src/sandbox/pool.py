"""One sandbox for each session: made at its first use, found again, ended in time.

Above: `tools`, `service`. Below: `store`, `jobs`, `provider`.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

import structlog
from msgspec import Struct

from sandbox.jobs import Jobs
from sandbox.provider import Gone, Key, Lost, Provider, Refused
from sandbox.store import Row, Store
from tool_service import ToolError

T = TypeVar("T")
_SWEEPS_PER_IDLE_TIME = 4
_LONGEST_PAUSE_SECONDS = 30.0
_KEPT_SECONDS = 30 * 86_400
_log = structlog.get_logger(__name__)

GONE = "The sandbox of this session had ended, and its files are gone: this is a new, empty one."


class Rules(Struct, frozen=True):
    """When a sandbox ends, in seconds; how many a tenant has, and calls at a time in each."""

    idle_seconds: int = 1800
    longest_seconds: int = 86_400
    per_tenant: int = 20
    calls_at_once: int = 16


class _Slot:
    """A session's place: one thing at a time makes or ends its sandbox, several calls use it.

    It stays as long as anything holds it.
    """

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.calls = 0
        self.holders = 0


class Pool:
    """The sandboxes of all sessions."""

    def __init__(self, provider: Provider, store: Store, jobs: Jobs, rules: Rules) -> None:
        self._provider = provider
        self._store = store
        self._jobs = jobs
        self._rules = rules
        self._slots: dict[Key, _Slot] = {}
        self._making: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[tuple[Row, str]]] = set()

    async def use(self, key: Key, action: Callable[[str], Awaitable[T]]) -> tuple[T, str]:
        """Do something in the session's sandbox, which is made if there is none.

        Gives what `action` gives, and a line for the model, if the sandbox isn't the one it knows.
        An action that finds its sandbox gone is begun again in a new one, since it did nothing.

        Raises: ToolError, Refused, Lost, Gone, and what `action` raises.
        """
        with self._held(key) as slot:
            if slot.calls >= self._rules.calls_at_once:
                raise ToolError(
                    f"{slot.calls} calls use this sandbox already, the most that may at once. "
                    "Nothing was done; wait for one to end."
                )
            slot.calls += 1
            try:
                return await self._use(key, action)
            finally:
                slot.calls -= 1

    async def end(self, key: Key) -> bool:
        """End the session's sandbox; False if it has none. Raises: Refused, Lost."""
        with self._held(key) as slot:
            async with slot.lock:
                row = self._store.get(key)
                if row is not None:
                    await self._provider.end(row.sandbox)
                self._store.forget(key)
                return row is not None

    async def sweep_forever(self) -> None:
        """End what is idle or too old, again and again."""
        pause = min(self._rules.idle_seconds / _SWEEPS_PER_IDLE_TIME, _LONGEST_PAUSE_SECONDS)
        while True:
            await asyncio.sleep(pause)
            self._store.forget_before(time.time() - _KEPT_SECONDS)
            for row in self._store.all():
                try:
                    await self._sweep(row)
                except (Refused, Lost) as error:
                    _log.warning("not_ended", sandbox=row.sandbox, detail=str(error))

    async def close(self) -> None:
        """Wait for what is being made: what isn't written down would be paid for by nobody."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _use(self, key: Key, action: Callable[[str], Awaitable[T]]) -> tuple[T, str]:
        row, note = await self._row(key)
        try:
            return await self._noting_use(row, action), note
        except Gone:
            self._store.end(row.sandbox, GONE)
        row, note = await self._row(key)
        return await self._noting_use(row, action), note

    async def _noting_use(self, row: Row, action: Callable[[str], Awaitable[T]]) -> T:
        try:
            return await action(row.sandbox)
        finally:
            self._store.used(row.sandbox, time.time())

    async def _row(self, key: Key) -> tuple[Row, str]:
        """The session's sandbox. Whoever asked may go; it is made all the same, and kept."""
        task = asyncio.create_task(self._found_or_made(key))
        self._tasks.add(task)
        task.add_done_callback(self._made_for_whoever)
        return await asyncio.shield(task)

    def _made_for_whoever(self, task: "asyncio.Task[tuple[Row, str]]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # has been looked at, even if nobody waits for it any more

    async def _found_or_made(self, key: Key) -> tuple[Row, str]:
        with self._held(key) as slot:
            async with slot.lock:
                return await self._under_lock(key)

    async def _under_lock(self, key: Key) -> tuple[Row, str]:
        row = self._store.get(key)
        if row is not None and time.time() - row.made_at > self._rules.longest_seconds:
            await self._end_row(row, self._too_old())
            row = None
        if row is not None:
            self._store.used(row.sandbox, time.time())
            return row, ""
        note = self._store.ended_why(key) or ""
        return await self._made(key), note

    async def _made(self, key: Key) -> Row:
        most = self._rules.per_tenant
        if self._store.count(key.tenant_id) + self._making[key.tenant_id] >= most:
            raise ToolError(
                f"There are {most} sandboxes already, the most that this tenant may have. Nothing "
                f"was done. One ends when its session calls sandbox_stop, or after "
                f"{_spell(self._rules.idle_seconds)} without use."
            )
        self._making[key.tenant_id] += 1
        try:
            # One whose making seemed to fail may be there nevertheless.
            sandbox = await self._provider.find(key) or await self._provider.create(key)
        finally:
            self._making[key.tenant_id] -= 1
        return self._store.put(key, sandbox, time.time())

    async def _sweep(self, row: Row) -> None:
        now = time.time()
        if now - row.made_at > self._rules.longest_seconds:
            await self._end_locked(row, self._too_old(), even_used=True)
        elif now - row.used_at > self._rules.idle_seconds:
            if await self._runs_jobs(row):
                self._store.used(row.sandbox, now)
            else:
                why = f"after {_spell(self._rules.idle_seconds)} without use"
                await self._end_locked(row, _ended(why), even_used=False)

    async def _runs_jobs(self, row: Row) -> bool:
        try:
            return await self._jobs.running(row.sandbox) > 0
        except Gone:
            return False

    async def _end_locked(self, row: Row, why: str, *, even_used: bool) -> None:
        with self._held(row.key) as slot:
            async with slot.lock:
                if self._store.get(row.key) == row and (slot.calls == 0 or even_used):
                    await self._end_row(row, why)

    async def _end_row(self, row: Row, why: str) -> None:
        await self._provider.end(row.sandbox)
        self._store.end(row.sandbox, why)

    def _too_old(self) -> str:
        return _ended(f"{_spell(self._rules.longest_seconds)} after it was made, its longest life")

    @contextmanager
    def _held(self, key: Key) -> Generator[_Slot]:
        slot = self._slots.setdefault(key, _Slot())
        slot.holders += 1
        try:
            yield slot
        finally:
            slot.holders -= 1
            if slot.holders == 0:
                del self._slots[key]


def _ended(when: str) -> str:
    return (
        f"The sandbox of this session was ended {when}, with its files: this is a new, empty one."
    )


def _spell(seconds: int) -> str:
    return f"{seconds // 60} minutes" if seconds >= 120 else f"{seconds} seconds"
