"""Which proxy is used for which URL (TOOL-07)."""

import pytest

from brain.engine.tool.http_target import parse_target
from brain.engine.tool.proxy import Proxies

pytestmark = pytest.mark.requirement("TOOL-07")

BOTH = {"HTTP_PROXY": "http://proxy:1", "HTTPS_PROXY": "http://proxy:2"}


def proxy(url: str, **env: str) -> str | None:
    found = Proxies(env).for_target(parse_target(url))
    return (
        None if found is None else f"{'https' if found.tls else 'http'}://{found.host}:{found.port}"
    )


def test_each_scheme_has_its_variable() -> None:
    assert proxy("http://a.example/", **BOTH) == "http://proxy:1"
    assert proxy("https://a.example/", **BOTH) == "http://proxy:2"
    assert proxy("http://a.example/", HTTPS_PROXY="http://proxy:2") is None
    assert proxy("https://a.example/", HTTP_PROXY="http://proxy:1") is None


def test_the_variables_may_be_in_lower_case() -> None:
    assert proxy("http://a.example/", http_proxy="http://proxy:1") == "http://proxy:1"
    assert proxy("http://a.example/", **BOTH, no_proxy="a.example") is None


def test_an_empty_variable_is_none() -> None:
    assert proxy("http://a.example/", HTTP_PROXY="") is None
    assert proxy("http://a.example/", HTTP_PROXY="", http_proxy="http://p:1") == "http://p:1"


def test_a_proxy_without_a_scheme_is_an_http_proxy() -> None:
    assert proxy("http://a.example/", HTTP_PROXY="proxy:3128") == "http://proxy:3128"


@pytest.mark.parametrize("value", ["socks5://proxy:1", "http://", "http://[::1", "ftp://p"])
def test_a_proxy_that_cannot_be_used_is_an_error_that_names_its_variable(value: str) -> None:
    with pytest.raises(ValueError, match=r"HTTP_PROXY is not the URL"):
        Proxies({"HTTP_PROXY": value})


def test_the_error_does_not_show_the_value() -> None:
    with pytest.raises(ValueError, match=r"^[^@]*$"):
        Proxies({"HTTP_PROXY": "socks5://me:secret@proxy:1"})


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST", "localhost.", "a.localhost", "127.0.0.1", "127.9.9.9", "[::1]",
     "[::ffff:127.0.0.1]"],
)  # fmt: skip
def test_loopback_is_reached_directly(host: str) -> None:
    assert proxy(f"http://{host}:8081/", **BOTH) is None


@pytest.mark.parametrize(
    ("exceptions", "host", "direct"),
    [
        ("a.example", "a.example", True),
        ("a.example", "A.EXAMPLE.", True),
        ("a.example", "b.a.example", True),
        ("a.example", "ba.example", False),
        (".a.example", "b.a.example", True),
        (".a.example", "a.example", True),
        ("*.a.example", "b.a.example", True),
        ("x, a.example ,y", "a.example", True),
        ("x a.example", "a.example", True),
        ("*", "a.example", True),
        ("a.example:80", "a.example", True),
        ("a.example:8080", "a.example", False),
        ("a.example:8080", "a.example:8080", True),
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("10.0.0.1:80", "10.0.0.1", True),
        ("10.0.0.1:81", "10.0.0.1", False),
        ("2001:db8::1", "[2001:db8::1]", True),
        ("2001:db8::/32", "[2001:db8::2]", True),
        ("[2001:db8::1]:80", "[2001:db8::1]", True),
        ("[2001:db8::1]:81", "[2001:db8::1]", False),
        ("0.1", "10.0.0.1", False),
        ("", "a.example", False),
        (",,", "a.example", False),
        ("*.", "a.example", False),
    ],
)
def test_exceptions_are_names_addresses_and_ranges(
    exceptions: str, host: str, direct: bool
) -> None:
    found = proxy(f"http://{host}/", **BOTH, NO_PROXY=exceptions)
    assert (found is None) is direct
