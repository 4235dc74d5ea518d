"""Sandboxes at Daytona, by its SDK. Above: `registry`. Below: `border`, `daytona_*`.

A sandbox has a name, which is unique, and is found again by it. What the SDK and Daytona's daemon
do that isn't obvious, all of it tested: - A command of a session is read line by line, with what
that loses; `daytona_output` gets around it. - Daytona stops a sandbox that nobody asks anything for
15 minutes, and all jobs with it, unless told
  not to. One that was stopped keeps its files, and is started again here.
- The client connects as soon as it is made, and takes what isn't given to it from a file `.env`.
"""

import asyncio
import math
import secrets
from collections.abc import AsyncGenerator
from contextlib import suppress

from daytona import (
    AsyncDaytona,
    AsyncSandbox,
    CreateSandboxFromSnapshotParams,
    DaytonaConfig,
    DaytonaConflictError,
    SandboxState,
    SessionExecuteRequest,
)

from sandbox.provider import Gone, Key, Lost, Output, Refused, Setup
from sandbox.providers.border import Border
from sandbox.providers.daytona_failures import told, told_of_creating
from sandbox.providers.daytona_output import Decoder, wrapped
from sandbox.providers.variables import required, template

_MARK = "brain"
_CONNECTIONS = 5  # to a command's log, which is sent from its start each time
_DELETE_SECONDS = 10
_ENDED = {
    SandboxState.DESTROYED,
    SandboxState.DESTROYING,
    SandboxState.ERROR,
    SandboxState.BUILD_FAILED,
}
_ASLEEP = {SandboxState.STOPPED, SandboxState.ARCHIVED, SandboxState.PAUSED}


async def remote(setup: Setup) -> AsyncGenerator["Daytona"]:
    """Daytona with the key of DAYTONA_API_KEY. Raises: CannotServe."""
    (key,) = required("daytona", setup.env, "DAYTONA_API_KEY")
    config = DaytonaConfig(
        api_key=key,
        api_url=setup.env.get("DAYTONA_API_URL") or None,
        target=setup.env.get("DAYTONA_TARGET") or None,
    )
    daytona = Daytona(config, setup, key)
    yield daytona
    await daytona.close()


class Daytona:
    """Daytona as the service sees it."""

    workspace = "/home/daytona/workspace"

    def __init__(self, config: DaytonaConfig, setup: Setup, key: str) -> None:
        self._config = config
        self._setup = setup
        self._border = Border(told, [key])
        self._creating = Border(told_of_creating, [key])
        self._client: AsyncDaytona | None = None
        self._known: dict[str, AsyncSandbox] = {}
        self._deleting: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Close the connections; the sandboxes go on."""
        if self._deleting:
            await asyncio.wait(self._deleting)
        if self._client is not None:
            await self._client.close()

    async def find(self, key: Key) -> str | None:
        try:
            with self._border.asking():
                found = await self._daytona().get(key.label, request_timeout=0)
                if found.state in _ENDED:
                    return None
                await _wake(found)
        except Gone:
            return None
        self._known[found.id] = found
        return found.id

    async def create(self, key: Key) -> str:
        with self._creating.acting():
            made = await self._made(key) or await self._made_instead(key)
        self._known[made.id] = made
        return made.id

    async def alive(self, sandbox: str) -> bool:
        try:
            with self._border.asking():
                found = await self._daytona().get(sandbox, request_timeout=0)
        except Gone:
            return False
        return found.state not in _ENDED

    async def end(self, sandbox: str) -> None:
        self._known.pop(sandbox, None)
        with suppress(Gone), self._border.acting():
            found = await self._daytona().get(sandbox, request_timeout=0)
            await found.delete(timeout=0, wait=True)

    async def execute(self, sandbox: str, script: str, output: Output) -> int:
        session = "brain-" + secrets.token_hex(8)
        box = await self._with_session(sandbox, session)
        try:
            with self._border.acting():
                request = SessionExecuteRequest(command=wrapped(script), run_async=True)
                command = await box.process.execute_session_command(session, request)
            with self._border.running():
                return await _followed(box, session, command.cmd_id or "", output)
        finally:
            self._delete(box, session)

    async def upload(self, sandbox: str, path: str, data: bytes) -> None:
        box = await self._box(sandbox)
        try:
            with self._border.acting():
                await box.fs.upload_file(data, path, timeout=0)
        except Refused:
            await self._look_again(sandbox)  # it may be gone, or asleep
            raise

    async def _with_session(self, sandbox: str, session: str) -> AsyncSandbox:
        """The SDK's own, with a session for one command, in which nothing runs yet."""
        box = await self._box(sandbox)
        try:
            with self._border.asking():
                await box.process.create_session(session, request_timeout=0)
        except Refused:
            box = await self._look_again(sandbox)
            with self._border.asking():
                await box.process.create_session(session, request_timeout=0)
        return box

    async def _box(self, sandbox: str) -> AsyncSandbox:
        """The SDK's own, awake. Raises: Gone, Refused."""
        if sandbox in self._known:
            return self._known[sandbox]
        return await self._look_again(sandbox)

    async def _look_again(self, sandbox: str) -> AsyncSandbox:
        self._known.pop(sandbox, None)
        with self._border.asking():
            found = await self._daytona().get(sandbox, request_timeout=0)
            if found.state in _ENDED:
                raise Gone(f"{sandbox} is {found.state}")
            await _wake(found)
        self._known[sandbox] = found
        return found

    def _daytona(self) -> AsyncDaytona:
        if self._client is None:
            self._client = AsyncDaytona(self._config)
        return self._client

    async def _made(self, key: Key) -> AsyncSandbox | None:
        """A new sandbox, or None if there is one of this name."""
        params = CreateSandboxFromSnapshotParams(
            name=key.label,
            labels={_MARK: key.label},
            snapshot=template(self._setup.env),
            network_block_all=not self._setup.network,
            auto_stop_interval=0,
            ttl_minutes=math.ceil(self._setup.longest_seconds / 60),
        )
        try:
            return await self._daytona().create(params, timeout=0)
        except DaytonaConflictError:
            return None

    async def _made_instead(self, key: Key) -> AsyncSandbox:
        """The sandbox that has the name already, or a new one if that one is of no use."""
        found = await self._daytona().get(key.label, request_timeout=0)
        if found.state not in _ENDED:
            await _wake(found)
            return found
        await found.delete(timeout=0, wait=True)
        made = await self._made(key)
        if made is None:
            raise Refused("capacity", f"the last sandbox {key.label} is ending just now")
        return made

    def _delete(self, box: AsyncSandbox, session: str) -> None:
        """Drop a session, with what its shell still runs, in the background."""

        async def delete() -> None:
            with suppress(Exception):  # it ends with its sandbox, at the latest
                async with asyncio.timeout(_DELETE_SECONDS):
                    await box.process.delete_session(session)

        task = asyncio.create_task(delete())
        self._deleting.add(task)
        task.add_done_callback(self._deleting.discard)


async def _wake(box: AsyncSandbox) -> None:
    """Wait until it runs, or have it run again."""
    if box.state in _ASLEEP:
        await box.start(timeout=0)
    elif box.state != SandboxState.STARTED:
        await box.wait_for_sandbox_start(timeout=0)


async def _followed(box: AsyncSandbox, session: str, command: str, output: Output) -> int:
    """Hand over what a command writes; its exit code. Raises: Lost, or what the SDK raises."""
    decoder = Decoder(output)
    for connection in range(1, _CONNECTIONS + 1):
        decoder.rewind()
        try:
            await box.process.get_session_command_logs_async(
                session, command, decoder.take, decoder.ignore
            )
        except Exception:
            if decoder.exit_code is None and connection == _CONNECTIONS:
                raise
        if decoder.exit_code is not None:
            return decoder.exit_code
        await asyncio.sleep(0.1 * connection)
    raise Lost("the command's log ended without its exit code")
