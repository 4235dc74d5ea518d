"""Readers of one session's events, who come again with `Last-Event-ID` whenever they are cut off.

Above: `sessions`. Below: HTTP.
"""

import asyncio
from contextlib import suppress

from brain_testing.chaos.asking import LOST, PAUSE, Asker
from brain_testing.chaos.told import Json

_END_SECONDS = 90


class Follower:
    """Appends all that it is shown to a view, until the session is closed, or idle in the end."""

    def __init__(
        self, asker: Asker, session_id: str, view: list[Json], quiet: asyncio.Event
    ) -> None:
        self._asker = asker
        self._session_id = session_id
        self._view = view
        self._quiet = quiet
        self._task = asyncio.create_task(self._see())

    async def end(self) -> None:
        """Wait until it has come to the end of the session."""
        try:
            async with asyncio.timeout(_END_SECONDS):
                await asyncio.shield(self._task)
        except TimeoutError:
            pass  # its view says what it has not seen
        await self.drop()

    async def drop(self) -> None:
        """Let go of it."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _see(self) -> None:
        while True:
            ending = self._quiet.is_set()
            with suppress(*LOST, AssertionError, TimeoutError):
                if await self._read(ending=ending):
                    return
                if ending and await self._is_idle():
                    return
            await asyncio.sleep(PAUSE)

    async def _read(self, *, ending: bool) -> bool:
        """Read until it is over; if it is that already, until the session is idle.

        Gives whether nothing more can come.
        """
        last = str(self._view[-1]["seq"]) if self._view else None
        until = {"until": "idle"} if ending else {}
        follow = self._asker.api.follow(self._session_id, last_event_id=last, **until)
        async with asyncio.timeout(None) as patience, follow as frames:
            cut = None if ending else asyncio.create_task(self._cut(patience))
            try:
                async for frame in frames:
                    if frame.id is not None:
                        self._view.append(frame.data)
                        if frame.event == "session.closed":
                            return True
            finally:
                if cut is not None:
                    cut.cancel()
        return False

    async def _cut(self, patience: asyncio.Timeout) -> None:
        """End the stream of before, once it is over."""
        await self._quiet.wait()
        patience.reschedule(asyncio.get_running_loop().time())

    async def _is_idle(self) -> bool:
        session = await self._asker.once("GET", f"/sessions/{self._session_id}")
        if session is None or session.status_code != 200 or not self._view:
            return False
        told = session.json()
        return told["status"] != "running" and told["last_seq"] == self._view[-1]["seq"]
