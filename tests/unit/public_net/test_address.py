"""Which addresses are public, and where a URL leads (WEB-01)."""

from ipaddress import ip_address, ip_network

import pytest

from public_net import BadURL, read_url, why_not_public

pytestmark = pytest.mark.requirement("WEB-01")


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "168.63.129.15",
        "168.63.129.17",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.3.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2606:4700:4700::1111",
        "2a00:1450:4001:80b::200e",
    ],
)
def test_what_lies_beside_a_special_range_is_public(address: str) -> None:
    assert why_not_public(ip_address(address)) is None


@pytest.mark.parametrize(
    "network",
    ["127.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "fc00::/7", "::ffff:0:0/96", "64:ff9b::/96"],
)
def test_a_special_range_is_so_from_its_first_address_to_its_last(network: str) -> None:
    whole = ip_network(network)
    assert why_not_public(whole[0])
    assert why_not_public(whole[-1])


@pytest.mark.parametrize(
    ("location", "leads"),
    [
        ("/other", "https://example.com/other"),
        ("other?x=1", "https://example.com/a/other?x=1"),
        ("?x=1", "https://example.com/a/b?x=1"),
        ("//elsewhere.test/c", "https://elsewhere.test/c"),
        ("http://elsewhere.test:8080", "http://elsewhere.test:8080/"),
        ("#part", "https://example.com/a/b"),
        ("/ü", "https://example.com/%C3%BC"),
    ],
)
def test_a_redirect_leads_where_a_browser_would_go(location: str, leads: str) -> None:
    assert read_url("https://example.com/a/b#here").follow(location).url == leads


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ftp://example.com/", "only http"),
        ("http://user@example.com/", "user or password"),
        ("http://example.com/a b", "no spaces"),
        ("http://127.1/", "four decimal numbers"),
        ("http://example.com:0/", "from 1 to 65535"),
        ("http://example.com:99999/", "from 1 to 65535"),
        ("example.com", "only http"),
        ("http://exa$mple.com/", "isn't the name of a host"),
    ],
)
def test_what_is_wrong_with_a_url_is_said(url: str, why: str) -> None:
    with pytest.raises(BadURL, match=why):
        read_url(url)
