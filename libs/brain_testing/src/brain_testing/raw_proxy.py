"""An HTTP proxy in a process of its own: absolute URLs for http, CONNECT tunnels for https.

Above: tests of proxies. Below: nothing of ours. It prints the port that it listens on, and then
one line for each request: the request line and the credentials that came with it, if any. Started
with an argument, it refuses every request with that status.
"""

import asyncio
import sys
from types import TracebackType
from urllib.parse import urlsplit


class ProxyProcess:
    """`async with ProxyProcess() as proxy:` starts the process and ends it."""

    def __init__(self, refuse_with: str | None = None) -> None:
        self.port = 0
        self._arguments = () if refuse_with is None else (refuse_with,)
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> "ProxyProcess":
        command = (sys.executable, "-m", "brain_testing.raw_proxy", *self._arguments)
        self._process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        self.port = int(await self._line())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.rest()

    @property
    def url(self) -> str:
        """For `HTTP_PROXY` or `HTTPS_PROXY`."""
        return f"http://127.0.0.1:{self.port}"

    async def request(self) -> str:
        """The next request that the proxy got."""
        return await self._line()

    async def rest(self) -> list[str]:
        """End the process; every request that was not looked at yet."""
        assert self._process is not None
        if self._process.returncode is None:
            self._process.kill()
        output, _ = await self._process.communicate()
        return output.decode().splitlines()

    async def _line(self) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        async with asyncio.timeout(20):
            return (await self._process.stdout.readline()).decode().strip()


async def _serve(refuse_with: str | None) -> None:
    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _relay(reader, writer, refuse_with)
        finally:
            writer.close()

    server = await asyncio.start_server(accepted, "127.0.0.1", 0)
    _say(str(server.sockets[0].getsockname()[1]))
    await server.serve_forever()


async def _relay(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, refuse_with: str | None
) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *fields = head.split("\r\n")
    given = [field for field in fields if field.lower().startswith("proxy-authorization:")]
    _say(" ".join([line, *given]))
    if refuse_with is not None:
        writer.write(f"HTTP/1.1 {refuse_with}\r\nContent-Length: 0\r\n\r\n".encode())
        await writer.drain()
        return
    method, target, version = line.split(" ")
    url = urlsplit("//" + target if method == "CONNECT" else target)
    # Every name is this machine: tests use names that exist nowhere.
    up_reader, up_writer = await asyncio.open_connection("127.0.0.1", url.port)
    if method == "CONNECT":
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    else:
        path = url.path + (f"?{url.query}" if url.query else "")
        kept = [field for field in fields if field not in given]
        up_writer.write("\r\n".join([f"{method} {path} {version}", *kept]).encode("latin-1"))
    await asyncio.gather(_copy(reader, up_writer), _copy(up_reader, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1] if len(sys.argv) > 1 else None))
