"""Runs in a stand-in's sandbox and starts the processes there. Above: `machine`.

A program of its own, with nothing but Python's library: `python agent.py SOCKET`. Each connection
is one process. It begins with a line of JSON, `{"argv", "cwd", "env"}`, and gets one back,
`{"pid"}` or `{"error"}`. Frames follow, each a kind, a length and that many bytes: from here `o`
and `e` for what the process writes and `x` for its exit code, once all was written; to here `i` for
its standard input, `c` at the end of that, and `s` with the number of a signal for this one
process.
"""

import asyncio
import json
import os
import sys
from contextlib import suppress

PIECE = 32 * 1024


def frame(kind: bytes, data: bytes) -> bytes:
    """One frame, as it is sent."""
    return kind + len(data).to_bytes(4, "big") + data


async def read_frame(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The next frame: its kind and its data. Raises: IncompleteReadError at the end."""
    kind = await reader.readexactly(1)
    return kind, await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))


async def _connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        await _run(reader, writer)
    writer.close()


async def _run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    asked = json.loads(await reader.readline())
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *asked["argv"],
            cwd=asked["cwd"],
            env={**os.environ, **asked["env"]},
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            start_new_session=True,
        )
    except OSError as error:
        writer.write(json.dumps({"error": f"{error.filename}: {error.strerror}"}).encode() + b"\n")
        return
    writer.write(json.dumps({"pid": process.pid}).encode() + b"\n")
    told = asyncio.create_task(_obey(reader, process))
    assert process.stdout is not None
    assert process.stderr is not None
    await asyncio.gather(
        _pass_on(b"o", process.stdout, writer), _pass_on(b"e", process.stderr, writer)
    )
    writer.write(frame(b"x", str(await process.wait()).encode()))
    await writer.drain()
    told.cancel()


async def _pass_on(kind: bytes, output: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await output.read(PIECE):
        if not writer.is_closing():  # the process goes on when nobody listens
            with suppress(ConnectionError):
                writer.write(frame(kind, piece))
                await writer.drain()


async def _obey(reader: asyncio.StreamReader, process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            kind, data = await read_frame(reader)
            if kind == b"i":
                process.stdin.write(data)
                await process.stdin.drain()
            elif kind == b"c":
                process.stdin.close()
            else:
                with suppress(ProcessLookupError):
                    process.send_signal(int(data))


async def _serve(path: str) -> None:
    server = await asyncio.start_unix_server(_connected, path, limit=1024 * 1024)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1]))
