"""The tools for work that outlasts a call. Above: `service`. Below: `pool`, `jobs`."""

import contextlib
import time
from typing import Annotated, Any

from msgspec import Meta

from sandbox import inside
from sandbox.failures import told
from sandbox.inside import Refusal
from sandbox.jobs import LOST, Status, new_job_id
from sandbox.provider import Gone, Key
from sandbox.tools import Sandboxes, key_of, noted
from sandbox.tools.arguments import Command, Environment, Folder, check_command
from sandbox.transcript import readable
from tool_service import Call, Result, ToolError

STARTED: dict[str, Any] = {
    "type": "object",
    "properties": {"job_id": {"type": "string"}},
    "required": ["job_id"],
    "additionalProperties": False,
}
STATUS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "state": {"enum": ["running", "exited", "cancelled", "lost"]},
        "exit_code": {"type": ["integer", "null"]},
        "stdout": {"type": "string"},
        "stderr": {"type": "string"},
    },
    "required": ["state", "exit_code", "stdout", "stderr"],
    "additionalProperties": False,
}
JobId = Annotated[str, Meta(pattern="^job_[0-9a-f]{16}$", description="What sandbox_start gave.")]
Tail = Annotated[
    int, Meta(ge=0, le=65_536, description="How many of the last bytes of each stream to show.")
]
_MOST_JOBS = 16


async def sandbox_start(
    command: Command,
    call: Call,
    sandboxes: Sandboxes,
    cwd: Folder = ".",
    env: Environment | None = None,
) -> Result:
    """Start a job and give its id. Raises: ToolError, UnknownOutcome."""
    check_command(command, cwd, env or {})
    key, job_id = key_of(call), new_job_id()
    await call.progress({"status": "starting"})

    async def start(sandbox: str) -> None:
        if await sandboxes.jobs.running(sandbox) >= _MOST_JOBS:
            raise ToolError(
                f"{_MOST_JOBS} jobs run in this sandbox, the most that may. Cancel one, or wait "
                "for one to end."
            )
        text = inside.command(command, env or {})
        sandboxes.store.add_job(job_id, key, sandbox, time.time())
        await sandboxes.jobs.start(sandbox, job_id, cwd, text)

    with told(f"the job {job_id} was being started"):
        _, note = await sandboxes.pool.use(key, start)
    return Result(text=noted(note, f"Started {job_id}."), structured={"job_id": job_id})


async def sandbox_status(
    job_id: JobId, call: Call, sandboxes: Sandboxes, tail_bytes: Tail = 4000
) -> Result:
    """How a job is, and what it wrote last. Raises: ToolError."""
    await call.progress({"status": "looking"})
    with told("the job was being looked at", changes=False):
        return _result(job_id, await _status(sandboxes, key_of(call), job_id, tail_bytes))


async def sandbox_cancel(job_id: JobId, call: Call, sandboxes: Sandboxes) -> Result:
    """End a job with all that it started. Raises: ToolError, UnknownOutcome."""
    await call.progress({"status": "cancelling"})
    key = key_of(call)
    with told("the job was being cancelled"):
        sandbox = _sandbox_of(sandboxes, key, job_id)
        if sandbox is not None:
            with contextlib.suppress(Gone):
                await sandboxes.jobs.cancel(sandbox, job_id)
        return _result(job_id, await _status(sandboxes, key, job_id, 4000))


async def _status(sandboxes: Sandboxes, key: Key, job_id: str, tail: int) -> Status:
    sandbox = _sandbox_of(sandboxes, key, job_id)
    if sandbox is None:
        return LOST
    try:
        return await sandboxes.jobs.status(sandbox, job_id, tail)
    except Gone:
        return LOST
    except Refusal:  # the sandbox knows nothing of it: it never began there
        return LOST


def _sandbox_of(sandboxes: Sandboxes, key: Key, job_id: str) -> str | None:
    """Where the job runs; None if that sandbox has ended. Raises: ToolError."""
    sandbox = sandboxes.store.sandbox_of_job(job_id, key)
    if sandbox is None:
        raise ToolError(f"This session has no job {job_id}.")
    row = sandboxes.store.get(key)
    return sandbox if row is not None and row.sandbox == sandbox else None


def _result(job_id: str, status: Status) -> Result:
    out, err = readable(status.stdout), readable(status.stderr)
    text = _headline(job_id, status)
    shown = (("stdout", out, status.sizes[0]), ("stderr", err, status.sizes[1]))
    for (name, tail, size), data in zip(shown, (status.stdout, status.stderr), strict=True):
        if size:
            text += f"\n{name}, the last {len(data)} of {size} bytes:\n{tail}"
    structured = {
        "state": status.state,
        "exit_code": status.exit_code,
        "stdout": out,
        "stderr": err,
    }
    return Result(text=text, structured=structured)


def _headline(job_id: str, status: Status) -> str:
    if status.state == "exited":
        return f"{job_id} ended with exit code {status.exit_code}."
    if status.state == "cancelled":
        return f"{job_id} was cancelled, with all that it had started."
    if status.state == "lost":
        return (
            f"{job_id} is lost: it was ended from outside before it was done, because the sandbox "
            "ended, or was over its limits, or the service stopped."
        )
    return f"{job_id} is running."
