"""A process that does checks which could block others. Above: `check_pool`. Below: `checks`.

It reads jobs from its standard input and writes what they come to on its standard output, each as
a length in 4 bytes and then so many bytes. It ends when its input does, and it is ended from
outside when a job takes too long; should nobody be left to do so, its own alarm ends it.
"""

import os
import resource
import signal
import sys
from typing import BinaryIO

import msgspec

from brain.engine.tool.checks import Job, perform

MEMORY_BYTES = 1024**3
ALARM_SECONDS = 60
_NICENESS = 10

_job_decoder = msgspec.msgpack.Decoder(Job)


def main() -> None:
    """Work until there is nothing more to read."""
    # Ctrl-C in a terminal reaches the whole group: the engine says when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    os.nice(_NICENESS)
    work(sys.stdin.buffer, sys.stdout.buffer)


def work(jobs: BinaryIO, answers: BinaryIO) -> None:
    """Answer each job that is read."""
    while length := jobs.read(4):
        job = _job_decoder.decode(jobs.read(int.from_bytes(length)))
        signal.alarm(ALARM_SECONDS)
        answer = msgspec.json.encode(perform(job))
        signal.alarm(0)
        answers.write(len(answer).to_bytes(4) + answer)
        answers.flush()


if __name__ == "__main__":
    main()
