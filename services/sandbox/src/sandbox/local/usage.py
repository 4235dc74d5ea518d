"""What a sandbox uses: memory of its processes, room on disk. Above: `watchdog`. Below: /proc.

Everything here reads what a hostile program made, as the service's own user, and follows no link.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

_BLOCK = 512  # what st_blocks counts, whatever the file system's own block is
_PROC = Path("/proc")


class Disk(Struct, frozen=True):
    """Bytes that files take, and how many files and folders there are."""

    size: int
    entries: int


def processes(roots: Iterable[int]) -> Iterator[int]:
    """These processes and all their descendants. None gets out: the first inside adopts orphans."""
    waiting = list(roots)
    while waiting:
        process = waiting.pop()
        yield process
        for thread in _entries(_PROC / str(process) / "task"):
            with contextlib.suppress(OSError, ValueError):
                waiting += map(int, (thread / "children").read_text().split())


def memory(roots: Iterable[int], limit: int) -> int:
    """Bytes that these processes and their descendants use together.

    What they share is counted once only if it matters, since that takes longer to find out.
    """
    found = list(processes(roots))
    simple = sum(_kib(_PROC / str(each) / "status", "RssAnon", "RssShmem") for each in found)
    if simple <= limit:
        return simple
    return sum(_kib(_PROC / str(each) / "smaps_rollup", "Pss_Anon", "Pss_Shmem") for each in found)


def disk(folder: Path, most_entries: int) -> Disk:
    """What a folder's files take. It stops counting at `most_entries`."""
    size = entries = 0
    waiting = [folder]
    while waiting and entries <= most_entries:
        for entry in _scan(waiting.pop()):
            entries += 1
            with contextlib.suppress(OSError):
                size += entry.stat(follow_symlinks=False).st_blocks * _BLOCK
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))
            if entries > most_entries:
                break
    return Disk(size, entries)


def deleted(roots: Iterable[int]) -> int:
    """Bytes of files that are deleted and that these processes hold open still."""
    held: dict[tuple[int, int], int] = {}
    for process in processes(roots):
        for descriptor in _entries(_PROC / str(process) / "fd"):
            with contextlib.suppress(OSError):
                found = descriptor.stat()
                if found.st_nlink == 0:
                    held[found.st_dev, found.st_ino] = found.st_blocks * _BLOCK
    return sum(held.values())


def _scan(folder: Path) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except PermissionError:
        return _scan_opened(folder)
    except OSError:
        return []


def _scan_opened(folder: Path) -> "list[os.DirEntry[str]]":
    """Open a folder that was closed to hide what is in it: it is the service's own user's."""
    try:
        descriptor = os.open(folder, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY)
        try:
            Path(f"/proc/self/fd/{descriptor}").chmod(0o700)
        finally:
            os.close(descriptor)
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _kib(file: Path, *names: str) -> int:
    with contextlib.suppress(OSError, ValueError):
        lines = (line.split() for line in file.read_text().splitlines())
        return sum(int(line[1]) for line in lines if line and line[0].rstrip(":") in names) * 1024
    return 0


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
