"""Writes until the disk takes no more, which a limit on the size of files stands for; then goes on.

Prints `held` if everything held.
"""

# ruff: noqa: T201 - what it prints is what it is for

import asyncio
import resource
import sys
from pathlib import Path

import pytest

from brain.engine.log.protocol import EventLog, LogUnavailable
from brain.engine.log.sqlite import open_sqlite
from brain_testing.log_values import append, claimed, created, event, record, seqs

LIMIT = 300_000


def allow(size: int) -> None:
    """Let no file grow larger."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


async def fill(log: EventLog) -> str:
    """Write little by little, until not even a ping fits; gives what is said then."""
    for _ in range(1000):
        try:
            await log.ping()
        except LogUnavailable as error:
            return str(error)
    raise AssertionError("it never filled")


async def main(path: Path) -> None:
    """The disk fills, stays full, and has room again."""
    log = await open_sqlite(path)
    one, other = await created(log), await created(log)
    allow(LIMIT)
    together = [
        log.append(append(one, event(2, b"x" * LIMIT))),
        log.append(append(other, event(2))),
        log.append(append(one, event(3))),
    ]
    outcomes = await asyncio.gather(*together, return_exceptions=True)
    assert [type(each) for each in outcomes] == [LogUnavailable] * 3, outcomes
    assert "disk" in await fill(log)
    for refused in (log.append(append(other, event(2))), log.create(record(), event(1))):
        with pytest.raises(LogUnavailable):
            await refused
    assert await seqs(log, one) == await seqs(log, other) == [1], "reads go on"

    allow(resource.RLIM_INFINITY)
    with pytest.raises(LogUnavailable, match="earlier"):
        await log.append(append(one, event(3)))
    await log.append(append(one, event(2)))
    await log.append(append(one, event(3)))
    await log.append(append(other, event(2), epoch=await claimed(log, other)))
    assert (await seqs(log, one), await seqs(log, other)) == ([1, 2, 3], [1, 2])
    await log.close()
    print("held")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
