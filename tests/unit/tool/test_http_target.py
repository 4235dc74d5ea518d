"""How a request names where it goes (TOOL-03)."""

import pytest

from brain.engine.tool.http_target import parse_target

pytestmark = pytest.mark.requirement("TOOL-03")


@pytest.mark.parametrize(
    ("url", "host", "port", "authority", "path"),
    [
        ("http://a.example", "a.example", 80, "a.example", "/"),
        ("HTTPS://A.Example/x", "a.example", 443, "A.Example", "/x"),
        ("http://a.example:80/", "a.example", 80, "a.example:80", "/"),
        ("https://a.example:8443?q", "a.example", 8443, "a.example:8443", "/?q"),
        ("http://[2001:db8::1]:81/x", "2001:db8::1", 81, "[2001:db8::1]:81", "/x"),
        ("http://bücher.example:81/ü", "xn--bcher-kva.example", 81,
         "xn--bcher-kva.example:81", "/%C3%BC"),
        ("http://a.example/%zz%20a?b=%", "a.example", 80, "a.example", "/%zz%20a?b=%"),
        ("http://a.example/x?u=http://b/", "a.example", 80, "a.example", "/x?u=http://b/"),
    ],
)  # fmt: skip
def test_a_url_is_taken_apart_as_it_is_written(
    url: str, host: str, port: int, authority: str, path: str
) -> None:
    target = parse_target(url)
    assert (target.host, target.port) == (host, port)
    assert (target.authority, target.path) == (authority, path)


@pytest.mark.parametrize("bad", ["\r\nX: y", " HTTP/1.0", "\x00", "\t", "\u2028"])
def test_no_url_can_end_the_request_line(bad: str) -> None:
    target = parse_target(f"http://a.example/x{bad}")
    assert target.path.isascii()
    assert target.path.isprintable()
    assert " " not in target.path
