"""How a test and a scripted server wait for each other. Above: `tool_server`."""

import asyncio
from collections import defaultdict

_PATIENCE = 20.0
"""Seconds after which a wait that should have been short fails its test."""


class Signals:
    """Points that a script has reached, and gates at which it waits."""

    def __init__(self) -> None:
        self._gates: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._points: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(0)
        )

    def gate(self, name: str) -> asyncio.Event:
        """Set once the gate is open."""
        return self._gates[name]

    def reach(self, name: str) -> None:
        """A script is at this point."""
        self._points[name].release()

    async def wait_for(self, name: str) -> None:
        """Wait until this point has been reached, once more than waited for before."""
        async with asyncio.timeout(_PATIENCE):
            await self._points[name].acquire()
