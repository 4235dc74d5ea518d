"""The edge's HTTP on bare sockets: what the clients of others send, and what attackers do."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from brain.edge.http import MAX_HEAD_BYTES, BoundedHttp
from brain_testing.api import Api
from brain_testing.desk import within
from brain_testing.running import RunningBrain

SESSION = b'{"harness":"pi","config":{"model":"demo/script"}}'
H2C = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"


class Wire:
    """A connection to the edge."""

    def __init__(
        self, brain: RunningBrain, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.reader, self.writer = reader, writer
        self.key = f"Authorization: Bearer {brain.key}\r\n"

    def send(self, head: str, body: bytes = b"") -> None:
        """Send a request's head, less its last line, and a body."""
        self.writer.write(f"{head}Host: brain\r\n\r\n".encode() + body)

    def post(self, more: str = "", body: bytes = SESSION) -> None:
        """Send what makes a session."""
        head = f"POST /sessions HTTP/1.1\r\n{self.key}Content-Type: application/json\r\n{more}"
        self.send(f"{head}Content-Length: {len(body)}\r\n", body)

    async def answer(self) -> tuple[int, bytes]:
        """The next answer's status and body."""
        head = (await within(self.reader.readuntil(b"\r\n\r\n"))).decode().lower()
        length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
        return int(head.split()[1]), await within(self.reader.readexactly(length))

    async def rest(self) -> bytes:
        """Everything until the edge ends the connection."""
        try:
            return await within(self.reader.read())
        except ConnectionResetError:
            return b""


@asynccontextmanager
async def connected(brain: RunningBrain) -> AsyncGenerator[Wire]:
    host, _, port = brain.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=2**20)
    try:
        yield Wire(brain, reader, writer)
    finally:
        writer.transport.abort()


@pytest.mark.requirement("API-02")
async def test_the_body_of_a_request_that_offers_an_upgrade_is_read(brain: RunningBrain) -> None:
    async with connected(brain) as wire:
        for _ in range(2):
            wire.post(H2C)
            assert (await wire.answer())[0] == 201


async def test_a_body_in_pieces_after_an_offered_upgrade_is_read(brain: RunningBrain) -> None:
    async with connected(brain) as wire:
        wire.post(H2C + "Expect: 100-continue\r\n", b" " * 200_000 + SESSION)
        await within(wire.reader.readuntil(b"100 Continue\r\n\r\n"))
        assert (await wire.answer())[0] == 201


async def test_requests_in_one_piece_are_answered_in_order(brain: RunningBrain) -> None:
    async with connected(brain) as wire:
        wire.post(H2C)
        wire.send("GET /healthz HTTP/1.1\r\n" + H2C)
        wire.post()
        assert [(await wire.answer())[0] for _ in range(3)] == [201, 200, 201]


@pytest.mark.requirement("API-01")
@pytest.mark.parametrize(
    "sent",
    [b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02", b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"],
)
async def test_what_is_no_http_request_gets_a_problem(sent: bytes, brain: RunningBrain) -> None:
    async with connected(brain) as wire:
        wire.writer.write(sent)
        status, body = await wire.answer()
        assert (status, json.loads(body)["status"]) == (400, 400)
        assert await wire.rest() == b""


@pytest.mark.parametrize("header", ["Transfer-Encoding: none", "Content-Length: 1, 2"])
async def test_a_body_without_a_clear_end_gets_a_problem(header: str, brain: RunningBrain) -> None:
    async with connected(brain) as wire:
        wire.send(f"POST /sessions HTTP/1.1\r\n{wire.key}{header}\r\n")
        assert (await wire.answer())[0] == 400
        assert await wire.rest() == b""


async def test_garbage_after_a_request_is_no_part_of_its_answer(
    brain: RunningBrain, api: Api
) -> None:
    session_id = await api.create()
    async with connected(brain) as wire:
        accept = "Accept: text/event-stream\r\n"
        wire.send(f"GET /sessions/{session_id}/events HTTP/1.1\r\n{wire.key}{accept}")
        await within(wire.reader.readuntil(b"session.created"))
        wire.writer.write(b"garbage\r\n\r\n")
        assert b"HTTP/1.1" not in await wire.rest()


async def test_a_head_without_end_is_refused(brain: RunningBrain) -> None:
    async with connected(brain) as wire:
        wire.writer.write(b"GET /healthz HTTP/1.1\r\nX: ")
        wire.writer.write(b"x" * MAX_HEAD_BYTES)
        assert (await wire.answer())[0] == 431


async def test_a_head_that_is_too_large_is_refused_whole(brain: RunningBrain) -> None:
    async with connected(brain) as wire:
        wire.send(f"GET /healthz HTTP/1.1\r\nX: {'x' * MAX_HEAD_BYTES}\r\n")
        assert (await wire.answer())[0] == 431


async def test_a_head_of_many_fields_within_the_limit_is_fine(brain: RunningBrain) -> None:
    async with connected(brain) as wire:
        wire.send("GET /healthz HTTP/1.1\r\n" + "X: 1\r\n" * 5_000)
        assert (await wire.answer())[0] == 200


@pytest.mark.requirement("AUTH-01")
async def test_a_trailer_is_no_header(brain: RunningBrain) -> None:
    async with connected(brain) as wire:
        chunked = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
        body = b"%x\r\n%b\r\n0\r\n%b\r\n" % (len(SESSION), SESSION, wire.key.encode())
        wire.send(f"POST /sessions HTTP/1.1\r\n{chunked}", body)
        assert (await wire.answer())[0] == 401


async def test_a_request_that_never_ends_is_given_up(
    brain: RunningBrain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedHttp, "request_seconds", 0.05)
    for begun in (
        b"",
        b"\r\n",
        b"GET /hea",
        b"POST /sessions HTTP/1.1\r\nContent-Length: 9\r\n\r\n",
    ):
        async with connected(brain) as wire:
            wire.writer.write(begun)
            await wire.rest()


async def test_a_connection_that_waits_for_events_is_not_given_up(
    brain: RunningBrain, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedHttp, "request_seconds", 0.05)
    session_id = await api.create()
    async with connected(brain) as wire, connected(brain) as other:
        accept = "Accept: text/event-stream\r\n"
        wire.send(f"GET /sessions/{session_id}/events HTTP/1.1\r\n{wire.key}{accept}")
        await within(wire.reader.readuntil(b"session.created"))
        await other.rest()  # it sends nothing: its time is over, and so would be the follower's
        await api.turn(session_id, "hi")
        await within(wire.reader.readuntil(b"turn.completed"))


@pytest.mark.requirement("EVT-04")
async def test_an_answer_that_nobody_reads_is_given_up(
    brain: RunningBrain, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = await api.create()
    for _ in range(4):
        await api.turn(session_id, "x" * 2_000_000)
    monkeypatch.setattr(BoundedHttp, "stalled_seconds", 0.2)
    async with connected(brain) as wire:
        wire.writer.transport.pause_reading()  # type: ignore[attr-defined]
        wire.send(f"GET /sessions/{session_id}/events?limit=1000 HTTP/1.1\r\n{wire.key}")
        while not wire.reader.at_eof():
            # What the edge can still write is in the sockets' buffers; then it waits, and is done.
            try:
                wire.writer.write(b"\r\n")
                await within(wire.writer.drain())
                await api.http.get("/healthz")
            except ConnectionError:
                break
