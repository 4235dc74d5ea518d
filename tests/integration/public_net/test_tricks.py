"""No URL and no answer of a DNS server makes a connection go to what isn't public (WEB-01)."""

from collections.abc import Callable
from typing import Any

import pytest

from brain_testing.fetch_tricks import TRICKS, Trick
from brain_testing.name_server import NameServer
from public_net import BadURL, Guard, Refused, Unresolved, read_url

pytestmark = pytest.mark.requirement("WEB-01")


def test_there_are_at_least_a_hundred_tricks_and_each_is_another() -> None:
    assert len({trick.url for trick in TRICKS}) == len(TRICKS) >= 100


@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: trick.what)
async def test_a_trick_is_refused_before_a_connection(
    trick: Trick, client: Any, inner: Any, public: Any
) -> None:
    with pytest.raises((BadURL, Refused, Unresolved)):
        await client.get(trick.at(inner.port, public.port))
    assert (inner.requests, public.requests) == ([], [])


async def test_a_name_that_is_public_at_the_first_look_only_never_leads_inside(
    client: Any, inner: Any, public: Any, dns: NameServer
) -> None:
    assert await client.get(f"http://rebind.test:{public.port}/") == b"hello"
    assert dns.asked["rebind.test"] == 2  # IPv4 and IPv6, once: what was judged was connected to
    with pytest.raises(Refused):
        await client.get(f"http://rebind.test:{inner.port}/")
    assert inner.requests == []


async def test_a_chain_that_changes_its_end_never_leads_inside(
    client: Any, inner: Any, public: Any
) -> None:
    assert await client.get(f"http://chain-flip.test:{public.port}/") == b"hello"
    with pytest.raises(Refused):
        await client.get(f"http://chain-flip.test:{inner.port}/")
    assert inner.requests == []


@pytest.mark.parametrize(
    "url",
    [
        "http://public.test:{port}/",
        "http://PUBLIC.test:{port}/",
        "http://public.test.:{port}/",
        "http://alias.test:{port}/",
        "http://127.0.0.2:{port}/",
        " http://public.test:{port}/ ",
        "http://public.test:{port}/a b".replace(" ", "%20"),
    ],
)
async def test_what_is_public_is_reached_with_the_host_of_its_url(
    url: str, client: Any, public: Any
) -> None:
    asked = url.format(port=public.port)
    assert await client.get(asked) == b"hello"
    (request,) = public.requests
    assert f"Host: {read_url(asked).authority}\r\n".encode() in request


@pytest.mark.parametrize("port", [1, 22, 25, 81, 3306, 8080, 65535])
async def test_by_default_only_the_ports_of_the_web_are_open(port: int) -> None:
    with pytest.raises(Refused, match=r"port \d+ isn't allowed, only 80 and 443"):
        await Guard().addresses("8.8.8.8", port)


async def test_the_guard_of_a_service_has_no_exception_for_the_tests_address() -> None:
    with pytest.raises(Refused):
        await Guard().addresses("127.0.0.2", 80)


async def test_a_name_is_refused_without_saying_where_it_leads() -> None:
    with pytest.raises(Refused, match=r"^localhost is not at a public address$"):
        await Guard().addresses("localhost", 80)


@pytest.fixture
def answered() -> Callable[[list[str]], Guard]:
    def guard(addresses: list[str]) -> Guard:
        async def resolve(host: str, port: int) -> list[str]:
            return addresses

        return Guard(resolve=resolve)

    return guard


async def test_public_addresses_come_in_their_order_and_not_more_than_four(
    answered: Callable[[list[str]], Guard],
) -> None:
    many = ["8.8.8.8", "2606:4700::1111", "8.8.4.4", "1.1.1.1", "1.0.0.1"]
    assert await answered(many).addresses("many.test", 443) == many[:4]


@pytest.mark.parametrize("nonsense", ["", "nonsense", "127.1", "8.8.8.8/0", "0x7f.1"])
async def test_what_isnt_an_address_among_the_answers_spoils_the_name(
    nonsense: str, answered: Callable[[list[str]], Guard]
) -> None:
    with pytest.raises(Refused):
        await answered(["8.8.8.8", nonsense]).addresses("odd.test", 80)


async def test_a_name_without_an_address_isnt_found(
    answered: Callable[[list[str]], Guard],
) -> None:
    with pytest.raises(Unresolved, match=r"there is no host empty\.test"):
        await answered([]).addresses("empty.test", 80)
