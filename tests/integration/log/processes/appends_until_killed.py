"""Appends to eight sessions and reads them; says what was acknowledged and what was shown.

Started again on the same file it goes on where the log says that it ended.
"""

# ruff: noqa: T201 - what it prints is what it is for

import asyncio
import sys
from pathlib import Path

from brain.engine.log.protocol import EventLog
from brain.engine.log.sqlite import open_sqlite
from brain_testing.log_values import append, claimed, event, record


def body(seq: int) -> bytes:
    """What the event with this number holds."""
    return f'{{"n":{seq}}}'.encode() * 50


async def write(log: EventLog, session_id: str) -> None:
    """Append, one after the other."""
    found = await log.get(session_id)
    if found is None:
        await log.create(record(session_id=session_id), event(1, body(1)))
    seq = found.last_seq if found else 1
    epoch = await claimed(log, session_id)
    while True:
        several = [event(seq + number, body(seq + number)) for number in (1, 2)]
        await log.append(append(session_id, *several, epoch=epoch))
        seq += 2
        print("acknowledged", session_id, seq, flush=True)


async def show(log: EventLog, session_id: str) -> None:
    """Read what is new, again and again."""
    seen = 0
    while True:
        page = await log.read(session_id, seen, 1000)
        for each in page.events:
            seen = each.seq
            print("shown", session_id, seen, flush=True)


async def main(path: Path) -> None:
    """Until killed."""
    log = await open_sqlite(path)
    sessions = [f"ses_{number}" for number in range(8)]
    work = [each(log, session_id) for session_id in sessions for each in (write, show)]
    await asyncio.gather(*work)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
