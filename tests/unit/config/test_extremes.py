"""The host config's check on what no sane file holds: still one clear line for each fault."""

import json

import pytest

from brain_testing.host_config import Checker, accepted, pointers, tool

LONG = "1" + "0" * 5_000
HALF = "\\ud800"


@pytest.mark.requirement("CONF-02", "CONF-12")
@pytest.mark.parametrize(
    ("text", "pointer", "says"),
    [
        (f'{{"retention_days": {LONG}}}', "/retention_days", "out of range"),
        (f'{{"retention_days": -{LONG}}}', "/retention_days", "out of range"),
        (f'{{"tols": [0, {{"x~y": {LONG}}}]}}', "/tols/1/x~0y", "out of range"),
        ('{"shutdown_grace_seconds": 1e999}', "/shutdown_grace_seconds", "out of range"),
        (f'{{"store": "sqlite:///{HALF}"}}', "/store", "surrogate"),
        (f'{{"engine": {{"listen": "unix:{HALF}"}}}}', "/engine/listen", "surrogate"),
        (f'{{"engine": {{"{HALF}": 1}}}}', "/engine", "surrogate"),
        (f'{{"{HALF}": 1}}', "", "surrogate"),
        (f'{{"{HALF}": 1, "{HALF}": 1}}', "", "twice"),
    ],
)
def test_what_nobody_could_pass_on_is_named(
    checked: Checker, text: str, pointer: str, says: str
) -> None:
    outcome = checked(text)

    assert pointers(outcome) == [pointer]
    line = str(outcome[0])  # type: ignore[index]
    assert says in line
    assert line.isprintable()
    assert len(line) < 200
    assert line.encode()


@pytest.mark.requirement("CONF-02")
def test_a_long_number_is_not_repeated_whole(checked: Checker) -> None:
    outcome = checked({"tools": [tool(timeout_seconds=10**299)]})

    assert pointers(outcome) == ["/tools/0/timeout_seconds"]
    assert len(str(outcome[0])) < 200  # type: ignore[index]


@pytest.mark.parametrize(
    "listen",
    [
        "127.0.0.1:65536",
        "127.0.0.1:-1",
        "127.0.0.1:٣",
        "[:::]:1",
        "[....]:1",
        "[::1]",
        "::1:80",
        "a\0b:1",
        "a..b:1",
        f"{'a' * 64}:1",
    ],
)
@pytest.mark.parametrize("field", ["listen", "metrics_listen"])
def test_an_address_that_nobody_can_listen_at_is_refused(
    checked: Checker, field: str, listen: str
) -> None:
    assert pointers(checked({field: listen})) == [f"/{field}"]


@pytest.mark.parametrize("listen", ["[::1]:80", "my_host.example.:0", "bücher.example:65535"])
def test_an_address_that_somebody_may_listen_at_is_fine(checked: Checker, listen: str) -> None:
    assert accepted(checked({"listen": listen})).host.listen == listen


@pytest.mark.parametrize("url", ["http://a..b/", f"http://{'a' * 64}/", "http://h:65536/"])
def test_a_host_that_can_not_be_looked_up_is_refused(checked: Checker, url: str) -> None:
    document = json.dumps({"tools": [tool(url=url)], "public_url": url})
    assert pointers(checked(document)) == ["/public_url", "/tools/0/url"]
