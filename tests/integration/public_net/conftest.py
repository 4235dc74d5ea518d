"""A server that nobody may reach on 127.0.0.1, one that stands for the internet on 127.0.0.2."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address

import httpcore2
import pytest

from brain_testing.fetch_tricks import NAMES, OUTSIDE
from brain_testing.name_server import NameServer, name_server
from public_net import Guard, GuardedBackend, IPAddress, read_url, why_not_public


@dataclass
class Site:
    """A server that says `hello` to everything, and what reached it."""

    port: int
    requests: list[bytes] = field(default_factory=list[bytes])


@asynccontextmanager
async def site(address: str) -> AsyncGenerator[Site]:
    found = Site(0)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found.requests.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, address, 0)
    found.port = server.sockets[0].getsockname()[1]
    async with server:
        yield found


@pytest.fixture
async def inner() -> AsyncGenerator[Site]:
    async with site("127.0.0.1") as found:
        yield found


@pytest.fixture
async def public() -> AsyncGenerator[Site]:
    async with site(OUTSIDE) as found:
        yield found


@pytest.fixture
async def dns() -> AsyncGenerator[NameServer]:
    async with name_server(NAMES) as server:
        yield server


def judge(address: IPAddress) -> str | None:
    return None if address == ip_address(OUTSIDE) else why_not_public(address)


@dataclass
class Client:
    """A pool whose connections the guard decides on."""

    guard: Guard

    async def get(self, url: str) -> bytes:
        target = read_url(url)
        async with httpcore2.AsyncConnectionPool(
            network_backend=GuardedBackend(self.guard)
        ) as pool:
            answer = await pool.request(
                "GET",
                httpcore2.URL(
                    scheme=target.scheme, host=target.host, port=target.port, target=target.path
                ),
                headers={"Host": target.authority},
                extensions={"timeout": {"connect": 5, "read": 5}},
            )
            return answer.content


@pytest.fixture
def client(dns: NameServer) -> Client:
    return Client(Guard(ports=None, resolve=dns.resolve, judge=judge))
