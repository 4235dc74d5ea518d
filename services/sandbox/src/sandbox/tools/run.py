"""The tool `sandbox_run`. Above: `service`. Below: `pool`, `transcript`, `inside`.

A call that is cancelled ends its command, with all its children: no provider does that by itself.
"""

import asyncio
import secrets
import time
from typing import Annotated, Any

import structlog
from msgspec import Meta, Struct

from sandbox import inside
from sandbox.failures import told
from sandbox.inside import Refusal
from sandbox.provider import Gone, Lost, Provider, Refused
from sandbox.scripts import feed
from sandbox.tools import Sandboxes, key_of, noted
from sandbox.tools.arguments import Command, Environment, Folder, check_command, data_of
from sandbox.transcript import Transcript
from tool_service import Call, Result

TIMEOUT_SECONDS = 3600
LONGEST_SECONDS = TIMEOUT_SECONDS - 600  # a sandbox may have to be made first
MOST_OUTPUT_BYTES = 2 * 1024 * 1024
OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "exit_code": {"type": ["integer", "null"]},
        "stdout": {"type": "string"},
        "stderr": {"type": "string"},
        "truncated": {"type": "boolean"},
        "timed_out": {"type": "boolean"},
        "duration_ms": {"type": "integer", "minimum": 0},
    },
    "required": ["exit_code", "stdout", "stderr", "truncated", "timed_out", "duration_ms"],
    "additionalProperties": False,
}

Stdin = Annotated[str, Meta(description="What it reads from its standard input.")]
Seconds = Annotated[
    int, Meta(ge=1, le=LONGEST_SECONDS, description="After this time it is killed.")
]
_log = structlog.get_logger(__name__)


class _Asked(Struct, frozen=True):
    """A command as it was asked for."""

    command: str
    cwd: str
    env: dict[str, str]
    stdin: bytes
    seconds: int


class _Ran(Struct, frozen=True):
    """How it went. No exit code: it was killed at its time. `lost`: nobody knows how it ended."""

    transcript: Transcript
    exit_code: int | None
    seconds: float
    lost: bool = False


async def sandbox_run(
    command: Command,
    call: Call,
    sandboxes: Sandboxes,
    cwd: Folder = ".",
    stdin: Stdin = "",
    env: Environment | None = None,
    timeout_seconds: Seconds = 120,
) -> Result:
    """Run a command to its end. Raises: ToolError, UnknownOutcome."""
    check_command(command, cwd, env or {})
    asked = _Asked(command, cwd, env or {}, data_of(stdin, "text", "stdin"), timeout_seconds)
    await call.progress({"status": "starting"})
    with told("the command was being run"):
        ran, note = await sandboxes.pool.use(
            key_of(call), lambda sandbox: _run(sandboxes.provider, sandbox, asked, call)
        )
    return _result(ran, asked, note)


async def _run(provider: Provider, sandbox: str, asked: _Asked, call: Call) -> _Ran:
    given = await feed(provider, sandbox, asked.stdin)
    name, word = f"run-{secrets.token_hex(12)}", secrets.token_hex(8)
    command = inside.command(asked.command, asked.env)
    text = inside.script("run.sh", provider.workspace, word, given.define, command, CWD=asked.cwd)
    transcript = Transcript(call.progress, word)
    began = time.monotonic()
    code, lost = await _executed(provider, sandbox, name, text, (transcript, asked.seconds))
    await transcript.close()
    if code is not None and (why := inside.refusal(word, code, transcript.refused)) is not None:
        raise Refusal(why)
    return _Ran(transcript, code, time.monotonic() - began, lost)


async def _executed(
    provider: Provider, sandbox: str, name: str, text: str, into: tuple[Transcript, int]
) -> tuple[int | None, bool]:
    """The exit code, if there is one, and whether the connection was lost."""
    transcript, seconds = into
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await provider.execute(sandbox, text, transcript.output, name), False
    except TimeoutError:
        if not limit.expired():
            raise
        await _kill(provider, sandbox, name)
        return None, False
    except Lost as lost:
        _log.warning("lost", detail=str(lost), doing="run")
        await _kill_if_possible(provider, sandbox, name)
        return None, True
    except asyncio.CancelledError:
        await asyncio.shield(asyncio.ensure_future(_kill_if_possible(provider, sandbox, name)))
        raise


async def _kill(provider: Provider, sandbox: str, name: str) -> None:
    """Raises: Lost, if it isn't known whether it was ended."""
    try:
        await provider.kill(sandbox, name)
    except Gone:
        return
    except Refused as refused:
        raise Lost(f"a command over its time wasn't killed: {refused}") from refused


async def _kill_if_possible(provider: Provider, sandbox: str, name: str) -> None:
    try:
        await _kill(provider, sandbox, name)
    except Lost as lost:
        _log.error("not_killed", sandbox=sandbox, detail=str(lost))


def _result(ran: _Ran, asked: _Asked, note: str) -> Result:
    out, err = (ran.transcript.kept[each].text() for each in ("stdout", "stderr"))
    text = noted(note, f"{_headline(ran, asked)}{_block('stdout', out)}{_block('stderr', err)}")
    if ran.lost:
        return Result(text=text, is_error=True, unknown_outcome=True)
    structured = {
        "exit_code": ran.exit_code,
        "stdout": out,
        "stderr": err,
        "truncated": ran.transcript.truncated,
        "timed_out": ran.exit_code is None,
        "duration_ms": round(ran.seconds * 1000),
    }
    return Result(text=text, structured=structured)


def _headline(ran: _Ran, asked: _Asked) -> str:
    if ran.lost:
        return (
            "The connection to the sandbox was lost while the command ran. It was killed then, as "
            "far as that could be done; what it has done before stays done. What it had written:"
        )
    if ran.exit_code is None:
        return (
            f"The command ran for {asked.seconds} s, its limit, and was killed with all that it "
            "had started. For longer work use sandbox_start."
        )
    return f"Exit code {ran.exit_code}."


def _block(name: str, text: str) -> str:
    return f"\n{name}:\n{text}" if text else ""
