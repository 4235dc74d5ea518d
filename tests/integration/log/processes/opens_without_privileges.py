"""Opens a log as a process that file permissions bind, even if the tests run as root."""

# ruff: noqa: T201 - what it prints is what it is for

import asyncio
import ctypes
import sys
from pathlib import Path

from brain.engine.log.sqlite import LogCannotOpen, open_sqlite

_VERSION = 0x20080522


def drop_privileges() -> None:
    """Give up every capability."""
    header = (ctypes.c_uint32 * 2)(_VERSION, 0)
    nothing = (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None, use_errno=True).capset(header, nothing) == 0


async def main(path: Path) -> None:
    """Open, and say what came of it."""
    try:
        await (await open_sqlite(path)).close()
    except LogCannotOpen as error:
        print(error)
    else:
        print("open")


if __name__ == "__main__":
    drop_privileges()
    asyncio.run(main(Path(sys.argv[1])))
