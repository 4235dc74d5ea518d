"""A DNS server that says what a test wants, and a resolver that asks it. Above: tests of fetching.

Below: real datagrams on loopback. It answers as a recursive server does: a name that is an alias
comes with the whole chain and the addresses at its end. An answer may be another each time, which
is what rebinding is.
"""

import asyncio
import secrets
import struct
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from ipaddress import IPv4Address, IPv6Address, ip_address

_A, _CNAME, _AAAA, _IN = 1, 5, 28, 1
_PATIENCE = 5.0
_ANSWER, _NO_SUCH_NAME = 0x8180, 0x8183
_LONGEST_CHAIN = 8

Answer = Sequence[str]
"""Addresses, or one name of which this one is an alias."""


class NameServer:
    """Knows `names`: each has the answers that it gives in turn, the last one from then on."""

    def __init__(self, names: Mapping[str, Sequence[Answer]]) -> None:
        self._names = dict(names)
        self.port = 0
        self.asked: Counter[str] = Counter()
        self._given: Counter[str] = Counter()

    def knows(self, name: str, *answers: Answer) -> None:
        """From now on the name has these answers."""
        self._names[name] = answers
        self._given[name] = 0

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """The addresses of a host, IPv4 and IPv6 from one question each; a `Resolver`."""
        del port
        # One lookup is one turn of the answers, though it is two questions.
        found = [await self._ask(host, kind) for kind in (_A, _AAAA)]
        self._given[host.rstrip(".")] += 1
        addresses = [address for each in found for address in each]
        if not addresses:
            raise OSError(f"no address for {host}")
        return addresses

    async def _ask(self, host: str, kind: int) -> list[str]:
        loop = asyncio.get_running_loop()
        number, answer = secrets.randbits(16), loop.create_future()
        transport, _ = await loop.create_datagram_endpoint(
            lambda: _Asking(answer), remote_addr=("127.0.0.1", self.port)
        )
        try:
            question = struct.pack("!6H", number, 0x0100, 1, 0, 0, 0) + _question(host, kind)
            transport.sendto(question)
            async with asyncio.timeout(_PATIENCE):
                return _addresses(await answer, number)
        finally:
            transport.close()

    def answer(self, packet: bytes) -> bytes:
        """The answer to a question, as bytes of a datagram."""
        (number,) = struct.unpack_from("!H", packet)
        name, end = _read_name(packet, 12)
        (kind,) = struct.unpack_from("!H", packet, end)
        self.asked[name] += 1
        records = self._records(name, kind)
        known = name in self._names
        flags = _ANSWER if known else _NO_SUCH_NAME
        header = struct.pack("!6H", number, flags, 1, len(records), 0, 0)
        return header + packet[12 : end + 4] + b"".join(records)

    def _records(self, name: str, kind: int) -> list[bytes]:
        records: list[bytes] = []
        for _ in range(_LONGEST_CHAIN):
            answers = self._names.get(name, [()])
            turn = answers[min(self._given[name], len(answers) - 1)]
            alias = next((each for each in turn if not _is_address(each)), None)
            if alias is None:
                return records + [_address_record(name, a) for a in turn if _kind(a) == kind]
            records.append(_record(name, _CNAME, _encoded(alias)))
            name = alias
        return records


@asynccontextmanager
async def name_server(names: Mapping[str, Sequence[Answer]]) -> AsyncGenerator[NameServer]:
    """A DNS server on a free port while the block runs."""
    server = NameServer(names)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(
        lambda: _Answering(server), local_addr=("127.0.0.1", 0)
    )
    server.port = transport.get_extra_info("sockname")[1]
    try:
        yield server
    finally:
        transport.close()


class _Answering(asyncio.DatagramProtocol):
    def __init__(self, server: NameServer) -> None:
        self._server = server
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        assert self._transport is not None
        self._transport.sendto(self._server.answer(data), addr)


class _Asking(asyncio.DatagramProtocol):
    def __init__(self, answer: "asyncio.Future[bytes]") -> None:
        self._answer = answer

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        del addr
        if not self._answer.done():
            self._answer.set_result(data)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _kind(address: str) -> int:
    return _A if isinstance(ip_address(address), IPv4Address) else _AAAA


def _encoded(name: str) -> bytes:
    labels = name.rstrip(".").encode("ascii").split(b".")
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def _question(host: str, kind: int) -> bytes:
    return _encoded(host) + struct.pack("!2H", kind, _IN)


def _record(name: str, kind: int, data: bytes) -> bytes:
    return _encoded(name) + struct.pack("!2HIH", kind, _IN, 0, len(data)) + data


def _address_record(name: str, address: str) -> bytes:
    return _record(name, _kind(address), ip_address(address).packed)


def _read_name(packet: bytes, at: int) -> tuple[str, int]:
    labels: list[str] = []
    while packet[at]:
        length = packet[at]
        labels.append(packet[at + 1 : at + 1 + length].decode("ascii").lower())
        at += 1 + length
    return ".".join(labels), at + 1


def _addresses(packet: bytes, number: int) -> list[str]:
    """The addresses in an answer, wherever in the chain of aliases they stand."""
    found, _, _, count, _, _ = struct.unpack_from("!6H", packet)
    assert found == number
    _, at = _read_name(packet, 12)
    at += 4
    addresses: list[str] = []
    for _ in range(count):
        _, at = _read_name(packet, at)
        kind, _, _, length = struct.unpack_from("!2HIH", packet, at)
        data = packet[at + 10 : at + 10 + length]
        at += 10 + length
        if kind == _A:
            addresses.append(str(IPv4Address(data)))
        elif kind == _AAAA:
            addresses.append(str(IPv6Address(data)))
    return addresses
