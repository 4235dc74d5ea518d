"""A Postgres that is killed and starts again, and what it says of who owns what. Above: `world`.

Below: `brain_testing.postgres`. It writes through to the disk, as one does that is used in earnest.
"""

import asyncio
import contextlib
import json
import os
import signal
import time
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct

from brain_testing.postgres import PostgresServer

_SAFE = {"fsync": "on", "full_page_writes": "on"}
_GONE_SECONDS = 20.0
_OWNED = """
SELECT coalesce(json_agg(json_build_array(s.id, s.epoch)), '[]')
FROM brain.sessions AS s JOIN brain.engines AS e ON e.id = s.owner
WHERE s.open AND e.address = $1
"""
_STILL = """
SELECT coalesce(json_agg(s.id), '[]')
FROM brain.sessions AS s JOIN unnest($1::text[], $2::bigint[]) AS w (id, epoch) ON s.id = w.id
WHERE s.open AND s.epoch = w.epoch
"""
_OWNER = """
SELECT e.address FROM brain.sessions AS s JOIN brain.engines AS e ON e.id = s.owner WHERE s.id = $1
"""


class Owned(Struct, frozen=True):
    """Sessions with work in them that an engine owned at a moment, and by which epochs."""

    ids: list[str]
    epochs: list[int]


class Database:
    """A server of a run's own. What it can't be asked, since it is down, it answers with None."""

    def __init__(self) -> None:
        self._server = PostgresServer()
        self._alone = asyncio.Lock()
        self.url = self._server.url("postgres")

    def start(self) -> None:
        self._server.start(**_SAFE)

    def close(self) -> None:
        self._server.close()

    async def kill(self, pause: float) -> None:
        """Kill all of it at once, as when its machine crashes, and start it after a pause."""
        async with self._alone:
            await asyncio.to_thread(self._kill_all)
            await asyncio.sleep(pause)
            await asyncio.to_thread(self.start)

    async def restart(self) -> None:
        """Stop it in an orderly way and start it again, as for an update."""
        async with self._alone:
            await asyncio.to_thread(self._server.stop)
            await asyncio.to_thread(self.start)

    async def kill_a_part(self, rng: Random) -> None:
        """Kill one of its processes: it ends all others by itself and recovers from its log."""
        async with self._alone:
            children = _children(self._main())
            if children:
                _kill(rng.choice(children))

    async def owned_by(self, address: str) -> Owned | None:
        """The sessions with work in them that the engine at an address owns now."""
        found = await self._ask(_OWNED, address)
        return (
            None if found is None else Owned([row[0] for row in found], [row[1] for row in found])
        )

    async def still(self, owned: Owned) -> list[str] | None:
        """Those of them whose work goes on under nobody else yet."""
        return await self._ask(_STILL, owned.ids, owned.epochs)

    async def owner(self, session_id: str) -> str | None:
        """The address of the engine that owns a session."""
        try:
            return await self._server.execute(_OWNER, "postgres", session_id)
        except Exception:  # noqa: BLE001 - it is down, or about to be
            return None

    async def _ask(self, query: str, *values: object) -> list[Any] | None:
        try:
            return json.loads(await self._server.execute(query, "postgres", *values))
        except Exception:  # noqa: BLE001 - it is down, or about to be
            return None

    def _main(self) -> int:
        path = self._server.folder / "data" / "postmaster.pid"
        return int(path.read_text("utf-8").split()[0])

    def _kill_all(self) -> None:
        main = self._main()
        # Nobody is to start another while they end one after the other.
        os.kill(main, signal.SIGSTOP)
        everyone = [*_children(main), main]
        for each in everyone:
            _kill(each)
        self._server.stop(crash=True)
        deadline = time.monotonic() + _GONE_SECONDS
        while any(_alive(each) for each in everyone) and time.monotonic() < deadline:
            time.sleep(0.02)


def _kill(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _children(process: int) -> list[int]:
    found = (int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit())
    return [each for each in found if _status(each)[1:2] == [str(process)]]


def _alive(process: int) -> bool:
    return _status(process)[:1] not in ([], ["Z"])


def _status(process: int) -> list[str]:
    """Its state, its parent and more; nothing once it is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
