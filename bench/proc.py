"""What the kernel knows of a process: its children, CPU time and memory, from /proc.

Above: `brain_process`, `costs`. Below: Linux.
"""

import os
from collections.abc import Iterator
from pathlib import Path

_TICK = 1 / os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads of this process, to a hundredth of a second."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) * _TICK


def resident_bytes(pid: int) -> int:
    """The memory of this process that is in RAM."""
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * _PAGE


def command_line(pid: int) -> list[str]:
    """The arguments that this process was started with; none if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").split("\0")[:-1]
    except FileNotFoundError:
        return []


def family(pid: int) -> Iterator[int]:
    """This process and all that come from it, parents first."""
    yield pid
    for child in _children(pid):
        yield from family(child)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(child) for child in task.read_text(encoding="ascii").split()]
    return found


def _stat(pid: int) -> list[str]:
    # The command's name is in parentheses and may hold anything, so fields are counted after it.
    text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    return text.rpartition(")")[2].split()
