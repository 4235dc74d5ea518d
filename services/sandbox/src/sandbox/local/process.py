"""One bubblewrap process: started, read, ended with all that it started. Above: `provider`.

Below: `bubblewrap`. Whoever runs as bubblewrap's first process inside is the only way out: when it
ends, the kernel ends every process of that sandboxed tree, whatever it did to get away.
"""

import asyncio
import contextlib
from asyncio.subprocess import DEVNULL, PIPE, Process
from pathlib import Path

from sandbox.local.bubblewrap import Bubblewrap
from sandbox.local.limits import Limits
from sandbox.provider import Output, Refused, Stream

_PIECE_BYTES = 64 * 1024


class Launcher:
    """Starts processes in the folder of a sandbox, as the user that owns it.

    `as_owner` is for a service that is root, whose processes in a sandbox must not be.
    """

    def __init__(self, bubblewrap: Bubblewrap, limits: Limits, *, as_owner: bool) -> None:
        self._bubblewrap = bubblewrap
        self._limits = limits
        self._as_owner = as_owner

    async def start(self, files: Path, script: str, *, stdin: bool, output: bool) -> Process:
        """Run a script. Raises: Refused, if the machine can't start one more process."""
        owner = _owner(files) if self._as_owner else None
        whole = self._limits.shell() + script
        with self._bubblewrap.command(files, whole) as (arguments, inherited):
            try:
                return await asyncio.create_subprocess_exec(
                    *arguments,
                    stdin=PIPE if stdin else DEVNULL,
                    stdout=PIPE if output else DEVNULL,
                    stderr=PIPE if output else DEVNULL,
                    pass_fds=inherited,
                    start_new_session=True,
                    cwd="/",
                    env={},
                    user=owner,
                    group=owner,
                    extra_groups=None if owner is None else [],
                )
            except OSError as error:
                raise Refused("capacity", f"bwrap can't be started: {error.strerror}") from error


async def read(process: Process, output: Output) -> int:
    """Hand over all that a process writes; give its exit code, 128 + N if signal N ended it."""
    turn = asyncio.Lock()
    async with asyncio.TaskGroup() as group:
        if process.stdout is not None:
            group.create_task(_copy("stdout", process.stdout, output, turn))
        if process.stderr is not None:
            group.create_task(_copy("stderr", process.stderr, output, turn))
    return exit_code(await process.wait())


def exit_code(code: int) -> int:
    """As a shell says it."""
    return code if code >= 0 else 128 - code


async def end(process: Process) -> None:
    """End a process with all its children, and return when they are gone."""
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:  # a full pipe that nobody reads would hide the end
            while await pipe.read(_PIECE_BYTES):
                pass
    await process.wait()


async def _copy(
    stream: Stream, pipe: asyncio.StreamReader, output: Output, turn: asyncio.Lock
) -> None:
    while piece := await pipe.read(_PIECE_BYTES):
        async with turn:
            await output(stream, piece)


def _owner(files: Path) -> int:
    return files.stat().st_uid
