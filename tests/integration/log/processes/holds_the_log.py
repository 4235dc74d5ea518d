"""Opens a log, says so, and holds it until killed."""

# ruff: noqa: T201 - what it prints is what it is for

import asyncio
import sys
from pathlib import Path

from brain.engine.log.sqlite import open_sqlite


async def main(path: Path) -> None:
    """Until killed."""
    log = await open_sqlite(path)
    await log.ping()
    print("open", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
