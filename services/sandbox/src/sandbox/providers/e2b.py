"""Sandboxes at E2B, by its SDK. Above: `registry`. Below: `border`, `e2b_failures`.

A sandbox is found again by its metadata. What the SDK does that isn't obvious, all of it tested:
- `run(background=True, timeout=N)` cancels whoever called it after N seconds, so there is no
  timeout here but the service's own.
- A cancelled call leaves the stream open and the command running: it is disconnected here.
- Callbacks get text, in which bytes that aren't UTF-8 were replaced.
- A command's signal is lost in its exit code, so bash is started by a bash, which reports it.
"""

import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import UTC, datetime

from e2b import (
    ApiParams,
    AsyncCommandHandle,
    AsyncSandbox,
    CommandExitException,
    SandboxQuery,
    SandboxState,
)

from sandbox.provider import Gone, Key, Output, Setup, Stream
from sandbox.providers.border import Border
from sandbox.providers.e2b_failures import told
from sandbox.providers.variables import required, template

_MARK = "brain"
_RUN = """
s=$BRAIN_SCRIPT; unset BRAIN_SCRIPT
exec 9>&2 2>/dev/null  # or this bash says there that a signal ended the other one
bash -c "$s" </dev/null 2>&9 9>&-
exit $?
"""


async def remote(setup: Setup) -> AsyncGenerator["E2b"]:
    """E2B with the key of E2B_API_KEY. Raises: CannotServe."""
    (key,) = required("e2b", setup.env, "E2B_API_KEY")
    env = {name: value for name, value in setup.env.items() if value}
    params = ApiParams(
        api_key=key,
        domain=env.get("E2B_DOMAIN"),
        api_url=env.get("E2B_API_URL"),
        sandbox_url=env.get("E2B_SANDBOX_URL"),
        debug=False,  # in its debug mode the SDK makes and ends no sandboxes at all
        request_timeout=0,
    )
    yield E2b(params, setup, Border(told, [key]))


class E2b:
    """E2B as the service sees it."""

    workspace = "/home/user/workspace"

    def __init__(self, params: ApiParams, setup: Setup, border: Border) -> None:
        self._params = params
        self._border = border
        self._setup = setup
        self._connected: dict[str, AsyncSandbox] = {}

    async def find(self, key: Key) -> str | None:
        query = SandboxQuery(metadata={_MARK: key.label})
        with self._border.asking():
            found = AsyncSandbox.list(query=query, **self._params)
            while found.has_next:
                for each in await found.next_items():
                    return each.sandbox_id
        return None

    async def create(self, key: Key) -> str:
        with self._border.acting():
            sandbox = await AsyncSandbox.create(
                template(self._setup.env),
                timeout=self._setup.longest_seconds,
                metadata={_MARK: key.label},
                allow_internet_access=self._setup.network,
                # The SDK repeats a request that a server was too busy for, with the same key.
                idempotency_key=f"{key.label}-{secrets.token_hex(8)}",
                **self._params,
            )
        self._connected[sandbox.sandbox_id] = sandbox
        return sandbox.sandbox_id

    async def alive(self, sandbox: str) -> bool:
        try:
            with self._border.asking():
                await AsyncSandbox.get_info(sandbox, **self._params)
        except Gone:
            self._connected.pop(sandbox, None)
            return False
        return True

    async def end(self, sandbox: str) -> None:
        self._connected.pop(sandbox, None)
        with self._border.acting():
            await AsyncSandbox.kill(sandbox, **self._params)  # False if it is gone already

    async def execute(self, sandbox: str, script: str, output: Output) -> int:
        box = await self._box(sandbox)
        with self._border.acting():
            handle = await box.commands.run(
                _RUN,
                background=True,
                envs={"BRAIN_SCRIPT": script},
                on_stdout=_handing("stdout", output),
                on_stderr=_handing("stderr", output),
                timeout=0,
                request_timeout=0,
                retain_output=False,
            )
        try:
            with self._border.running():
                return await _exit_code(handle)
        finally:
            await handle.disconnect()

    async def upload(self, sandbox: str, path: str, data: bytes) -> None:
        box = await self._box(sandbox)
        with self._border.acting():
            await box.files.write_files([{"path": path, "data": data}], request_timeout=0)

    async def _box(self, sandbox: str) -> AsyncSandbox:
        """The SDK's own, woken if it was paused. A running one doesn't live longer by this."""
        if sandbox not in self._connected:
            with self._border.asking():
                info = await AsyncSandbox.get_info(sandbox, **self._params)
                left = int((info.end_at - datetime.now(UTC)).total_seconds())
                running = info.state == SandboxState.RUNNING
                seconds = max(left, 1) if running else self._setup.longest_seconds
                box = await AsyncSandbox.connect(sandbox, timeout=seconds, **self._params)
            self._connected[sandbox] = box
        return self._connected[sandbox]


async def _exit_code(handle: AsyncCommandHandle[None]) -> int:
    try:
        return (await handle.wait()).exit_code
    except CommandExitException as ended:
        return ended.exit_code


def _handing(stream: Stream, output: Output) -> Callable[[str], Awaitable[None]]:
    async def hand(text: str) -> None:
        await output(stream, text.encode())

    return hand
