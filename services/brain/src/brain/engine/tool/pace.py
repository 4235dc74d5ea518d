"""Turns at the event loop for those who have much to do. Above: `http_response`.

A service may send more in one go than the loop can work through without keeping all sessions
waiting, and two hundred services may do so at once. So whoever has more to do than one piece takes
turns, all of them together using a moment of each round of the loop.
"""

import asyncio
import time

MOMENT_SECONDS = 0.0001


class Pace:
    """The turns of one event loop."""

    def __init__(self) -> None:
        self._turns = asyncio.Lock()
        self._until = 0.0

    async def turn(self) -> None:
        """Wait for a turn to do one more piece of work."""
        if time.perf_counter() < self._until:
            return
        async with self._turns:
            await asyncio.sleep(0)
            self._until = time.perf_counter() + MOMENT_SECONDS
