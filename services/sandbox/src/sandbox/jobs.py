"""Jobs: commands that outlast a call. Above: `pool`, `tools`. Below: `inside`, `store`, `provider`.

All that is known of a job is in its sandbox, in files that its script writes; the store knows only
which sandbox it is in.
"""

import base64
import secrets
from typing import Literal

from msgspec import Struct

from sandbox.inside import script
from sandbox.provider import Provider
from sandbox.scripts import answer
from sandbox.store import Store

State = Literal["running", "exited", "cancelled", "lost"]
KEEP_BYTES = 16 * 1024 * 1024
"""How much of a job's output is kept, of each stream."""


class Status(Struct, frozen=True):
    """How a job is. `sizes` are bytes kept of stdout and stderr; the two are their last bytes."""

    state: State
    exit_code: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    sizes: tuple[int, int] = (0, 0)


LOST = Status("lost")


def new_job_id() -> str:
    """An id that is never used twice."""
    return f"job_{secrets.token_hex(8)}"


class Jobs:
    """Asks sandboxes how their jobs are."""

    def __init__(self, provider: Provider, store: Store) -> None:
        self._provider = provider
        self._store = store

    async def start(self, sandbox: str, job_id: str, cwd: str, command: str) -> None:
        """Start a job. `command` is as `inside.command` gives it.

        Raises: Refusal, Refused, Gone, Lost.
        """
        values = {"JOB": job_id, "CWD": cwd, "KEEP": str(KEEP_BYTES)}
        await answer(self._provider, sandbox, "job_prepare.sh", values)
        word = secrets.token_hex(8)
        runs = script("job.sh", self._provider.workspace, word, command, **values)
        await self._provider.spawn(sandbox, job_id, runs)

    async def status(self, sandbox: str, job_id: str, tail_bytes: int) -> Status:
        """Raises: Refusal, if the sandbox knows no such job; Refused, Gone, Lost."""
        values = {"JOB": job_id, "TAIL": str(tail_bytes)}
        said = await answer(self._provider, sandbox, "job_status.sh", values)
        found = _status(said.decode("ascii"))
        if found.state != "running":
            self._store.end_job(job_id)
        return found

    async def cancel(self, sandbox: str, job_id: str) -> None:
        """End a job with its children; one that has ended stays as it is."""
        await answer(self._provider, sandbox, "job_cancel.sh", {"JOB": job_id})
        await self._provider.kill(sandbox, job_id)

    async def running(self, sandbox: str) -> int:
        """How many jobs run in a sandbox."""
        states = [
            (await self.status(sandbox, job_id, 0)).state
            for job_id in self._store.open_jobs(sandbox)
        ]
        return states.count("running")


def _status(said: str) -> Status:
    first, out, err = (line.split(" ") for line in said.splitlines())
    state: State = first[0]  # pyright: ignore[reportAssignmentType] - the script's own words
    return Status(
        state,
        int(first[1]) if first[1] else None,
        base64.b64decode(out[1]),
        base64.b64decode(err[1]),
        (int(out[0]), int(err[0])),
    )
