"""What is refused before anything is sent (OUT-02, SES-05)."""

from typing import Any

import pytest

from brain_testing.raw_script import answers, ok
from brain_testing.tool_driver import ToolDriver, binding, said, start
from brain_testing.tool_server import ToolServer

pytestmark = pytest.mark.requirement("OUT-02", "OUT-08")


@pytest.mark.parametrize(
    ("bound", "called", "code"),
    [
        ({}, {"enabled": ()}, "refused_not_enabled"),
        ({}, {"enabled": ("other",)}, "refused_not_enabled"),
        ({}, {"name": "no such tool", "enabled": ("test",)}, "refused_not_enabled"),
        ({"name": "other"}, {}, "refused_unavailable"),
        ({}, {"tenant_id": "acme"}, "refused_unavailable"),
        ({"token": ""}, {}, "refused_credential"),
        ({"token": "two\nlines"}, {}, "refused_credential"),
        ({"token": "sécret"}, {}, "refused_credential"),
        ({"token": " padded"}, {}, "refused_credential"),
    ],
)
async def test_nothing_is_sent_and_nothing_happened(
    bound: dict[str, Any], called: dict[str, Any], code: str, driver: ToolDriver
) -> None:
    async with ToolServer(*answers(ok())) as server:
        result = await start(driver.caller(binding(server.url(), **bound)), **called).result()
        assert server.connections == 0
    assert (result.code, result.is_error, result.unknown_outcome) == (code, True, False)
    assert said(result).endswith("The tool was not called, so nothing happened.")


@pytest.mark.requirement("SES-05")
async def test_a_tool_that_was_removed_is_refused_like_one_of_another_tenant(
    driver: ToolDriver,
) -> None:
    removed = await start(driver.caller(), enabled=("test",)).result()
    foreign = binding("http://127.0.0.1:1/", tenants=frozenset({"acme"}))
    assert await start(driver.caller(foreign)).result() == removed


async def test_the_same_refusal_says_the_same_for_a_tool_that_never_was(
    driver: ToolDriver,
) -> None:
    caller = driver.caller(binding("http://127.0.0.1:1/"))
    known = await start(caller, name="test", enabled=("other",)).result()
    unknown = await start(caller, name="made_up", enabled=("other",)).result()
    assert known == unknown
