"""Sandboxes at Modal, by its SDK. Above: `registry`. Below: `border`, `modal_failures`.

A sandbox has a name, which is unique while it runs, and is found again by it. What the SDK does
that isn't obvious, all of it tested: - It tries for a minute to reach a server that isn't there,
and for five to reach a sandbox. - Its commands' input stays open, they can't be killed, and they go
on when a call is cancelled. - It takes 64 KiB of arguments: a longer script is sent as input. - Its
own client is for a whole process and reads ~/.modal.toml: this one is given all it needs.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import modal
from modal.config import config
from modal.container_process import ContainerProcess
from modal.io_streams import StreamReader
from modal_proto import api_pb2

from sandbox.provider import Gone, Key, Output, Refused, Setup, Stream
from sandbox.providers.border import Border
from sandbox.providers.modal_failures import told, told_of_creating
from sandbox.providers.variables import required, template

_APP = "brain-sandbox"
_MARK = "brain"
_MOST_ARGUMENT_BYTES = 60_000
_MOST_SECONDS = 86_400
_CONNECT_SECONDS = 20
_FROM_INPUT = 's=$(cat; echo x); exec </dev/null bash -c "${s%x}"'
_WRITE = 'mkdir -p "$(dirname "$1")" && cat >"$1"'


async def remote(setup: Setup) -> AsyncGenerator["Modal"]:
    """Modal with the token of MODAL_TOKEN_ID and MODAL_TOKEN_SECRET. Raises: CannotServe."""
    token = required("modal", setup.env, "MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET")
    url = setup.env.get("MODAL_SERVER_URL") or config["server_url"]
    client = modal.Client(url, api_pb2.CLIENT_TYPE_CLIENT, (token[0], token[1]))
    async with AsyncExitStack() as stack:
        made = Modal(client, setup, token[1], stack)
        yield made
        await made.disconnect()


class Modal:
    """Modal as the service sees it."""

    workspace = "/workspace"

    def __init__(
        self, client: modal.Client, setup: Setup, secret: str, stack: AsyncExitStack
    ) -> None:
        self._client = client
        self._setup = setup
        self._stack = stack
        self._border = Border(told, [secret])
        self._creating = Border(told_of_creating, [secret])
        self._app: modal.App | None = None
        self._opened = False
        self._connecting = asyncio.Lock()
        self._known: dict[str, modal.Sandbox] = {}

    async def disconnect(self) -> None:
        """Close the connections to sandboxes; they go on."""
        for sandbox in tuple(self._known):
            await self._forget(sandbox)

    async def find(self, key: Key) -> str | None:
        await self._connected()
        try:
            with self._border.asking():
                found = await modal.Sandbox.from_name.aio(_APP, key.label, client=self._client)
        except Gone:
            return None
        return found.object_id

    async def create(self, key: Key) -> str:
        app = await self._connected()
        made: modal.Sandbox | None = None
        with self._creating.acting(), suppress(modal.exception.AlreadyExistsError):
            made = await self._made(app, key)
        if made is not None:
            self._known[made.object_id] = made
            return made.object_id
        found = await self.find(key)  # made by a request whose answer was lost
        if found is None:
            raise Refused("capacity", f"the last sandbox {key.label} is ending just now")
        return found

    async def alive(self, sandbox: str) -> bool:
        try:
            await self._running(sandbox)
        except Gone:
            return False
        return True

    async def end(self, sandbox: str) -> None:
        await self._connected()
        await self._forget(sandbox)
        try:
            with self._border.acting():
                found = await modal.Sandbox.from_id.aio(sandbox, client=self._client)
                await found.terminate.aio(wait=True)
        except Gone:
            return

    async def execute(self, sandbox: str, script: str, output: Output) -> int:
        encoded = script.encode()
        by_input = len(encoded) > _MOST_ARGUMENT_BYTES
        command = _FROM_INPUT if by_input else f"exec </dev/null\n{script}"
        async with self._started(sandbox, command) as process:
            if by_input:
                await _feed(process, encoded)
            return await _followed(process, output)

    async def upload(self, sandbox: str, path: str, data: bytes) -> None:
        said = bytearray()

        async def hear(_stream: Stream, piece: bytes) -> None:
            said.extend(piece)

        async with self._started(sandbox, _WRITE, "-", path) as process:
            await _feed(process, data)
            code = await _followed(process, hear)
        if code:
            raise Refused("invalid", f"{path} can't be written: {said.decode(errors='replace')}")

    @asynccontextmanager
    async def _started(
        self, sandbox: str, command: str, *arguments: str
    ) -> AsyncGenerator["ContainerProcess[bytes]"]:
        """A command, once it runs; afterwards its failures are those of a script that had begun.

        What goes wrong may be that the sandbox is another one's by now, so it is looked up anew.
        """
        box = await self._running(sandbox)
        try:
            with self._border.acting():
                process = await box.exec.aio("bash", "-c", command, *arguments, text=False)
            with self._border.running():
                yield process
        except Exception:
            await self._forget(sandbox)
            raise

    async def _running(self, sandbox: str) -> modal.Sandbox:
        """The SDK's own. Raises: Gone, if it has finished: the SDK would try for minutes."""
        await self._connected()
        with self._border.asking():
            box = self._known.get(sandbox)
            if box is None:
                box = await modal.Sandbox.from_id.aio(sandbox, client=self._client)
            finished = await box.poll.aio()
        if finished is not None:
            await self._forget(sandbox)
            raise Gone(f"{sandbox} has finished with {finished}")
        self._known[sandbox] = box
        return box

    async def _forget(self, sandbox: str) -> None:
        box = self._known.pop(sandbox, None)
        if box is not None:
            await box.detach.aio()  # pyright: ignore[reportUnknownMemberType]

    async def _connected(self) -> modal.App:
        """Modal's app that all sandboxes belong to. Made and connected to at the first use."""
        async with self._connecting:
            if self._app is None:
                with self._creating.asking():
                    async with asyncio.timeout(_CONNECT_SECONDS):
                        if not self._opened:
                            await self._stack.enter_async_context(self._client)
                            self._opened = True
                        lookup = modal.App.lookup.aio
                        self._app = await lookup(_APP, client=self._client, create_if_missing=True)
            return self._app

    async def _made(self, app: modal.App, key: Key) -> modal.Sandbox:
        return await modal.Sandbox.create.aio(  # pyright: ignore[reportUnknownMemberType]
            "sleep",
            "infinity",
            app=app,
            client=self._client,
            name=key.label,
            tags={_MARK: key.label},
            image=_image(template(self._setup.env)),
            timeout=min(self._setup.longest_seconds, _MOST_SECONDS),
            block_network=not self._setup.network,
        )


def _image(chosen: str | None) -> modal.Image:
    if chosen is None:
        return modal.Image.debian_slim(python_version="3.12")
    return modal.Image.from_registry(chosen)  # pyright: ignore[reportUnknownMemberType]


async def _followed(process: "ContainerProcess[bytes]", output: Output) -> int:
    """Hand over what it writes until it has ended; its exit code."""
    turn = asyncio.Lock()

    async def read(stream: Stream, reader: "StreamReader[bytes]") -> None:
        async for piece in reader:
            async with turn:
                await output(stream, piece)

    reading = [
        asyncio.create_task(read("stdout", process.stdout)),
        asyncio.create_task(read("stderr", process.stderr)),
    ]
    try:
        await asyncio.gather(*reading)
        return await process.wait.aio()
    finally:
        for task in reading:
            task.cancel()
        await asyncio.wait(reading)


async def _feed(process: "ContainerProcess[bytes]", data: bytes) -> None:
    process.stdin.write(data)
    process.stdin.write_eof()
    await process.stdin.drain.aio()
