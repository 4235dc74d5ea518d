"""Holds a sandbox to what the kernel doesn't sum up by itself. Above: `provider`. Below: `usage`.

A process's own limits are the kernel's, and at once; the sums of memory and of disk are counted
here, several times a second, so a sandbox may be over them for a moment.
"""

import asyncio
import os
from collections.abc import Callable, Collection
from pathlib import Path

from sandbox.local.limits import Limits
from sandbox.local.usage import deleted, disk, memory

_EVERY_SECONDS = 0.1
_DISK_EVERY = 20  # looks: all of a disk is walked through no more often, unless much was written
_MIB = 1024 * 1024


async def over(files: Path, roots: Callable[[], Collection[int]], limits: Limits) -> str:
    """Return once the sandbox uses more than it may; says what, for whoever reads its output."""
    look = _Look(files, limits)
    while True:
        found = await asyncio.to_thread(look.over, list(roots()))
        if found is not None:
            return found
        await asyncio.sleep(_EVERY_SECONDS)


class _Look:
    """Looks again and again, at the whole disk only when it may have changed."""

    def __init__(self, files: Path, limits: Limits) -> None:
        self._files = files
        self._limits = limits
        self._looks = 0
        self._free_at_walk = 0
        self._left = 0
        # One that is over its limit already may still be read and emptied, but not grow.
        self._size_at_start: int | None = None
        self._entries_at_start = 0

    def over(self, roots: Collection[int]) -> str | None:
        used = memory(roots, self._limits.memory_bytes)
        if used > self._limits.memory_bytes:
            allowed = self._limits.memory_bytes // _MIB
            return f"its processes used {used // _MIB} MiB of memory; {allowed} MiB are allowed"
        return self._disk(roots)

    def _disk(self, roots: Collection[int]) -> str | None:
        status = os.statvfs(self._files)
        free = status.f_bavail * status.f_frsize
        self._looks += 1
        written = self._free_at_walk - free
        if self._looks % _DISK_EVERY != 1 and written < max(self._left // 4, 8 * _MIB):
            return None
        found = disk(self._files, self._limits.entries)
        used = found.size + deleted(roots)
        if self._size_at_start is None:
            self._size_at_start, self._entries_at_start = used, found.entries
        self._free_at_walk = free
        self._left = self._limits.disk_bytes - used
        return self._said(used, found.entries, self._size_at_start)

    def _said(self, used: int, entries: int, at_start: int) -> str | None:
        if used > max(self._limits.disk_bytes, at_start + _MIB):
            allowed = self._limits.disk_bytes // _MIB
            return f"its files take {used // _MIB} MiB; {allowed} MiB are allowed"
        if entries > max(self._limits.entries, self._entries_at_start):
            return f"it has more than the {self._limits.entries} files that are allowed"
        return None
