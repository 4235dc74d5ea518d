"""Time as a dependency, so that a test can move it."""

import asyncio
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What approvals ask of time."""

    def now(self) -> datetime:
        """The wall-clock time, in UTC."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def rfc3339(moment: datetime) -> str:
    """`moment` in UTC with milliseconds and a `Z`: `2026-12-01T09:35:00.123Z`. Sorts by time."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
