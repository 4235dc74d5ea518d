"""Checks that could block others are done elsewhere, and given up in time."""

import asyncio
import json
from typing import Any

import pytest

from brain.engine.tool.catalog import Catalog, Tool
from brain.engine.tool.check_pool import MAX_WORKERS
from brain.engine.tool.checker import Checker
from brain.engine.tool.limits import Limits
from brain_testing.raw_script import answers, ok
from brain_testing.tool_driver import ToolDriver, binding, said, start
from brain_testing.tool_server import ToolServer

pytestmark = pytest.mark.requirement("TOOL-02", "TOOL-08")

ENDLESS = {
    "$ref": "#/$defs/d0",
    "$defs": {
        **{f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)},
        "d60": {"type": "object"},
    },
}
"""2 to the power of 60 steps."""

TREE = {"type": "object", "properties": {"next": {"$ref": "#"}, "n": {"type": "integer"}}}
SOON = Limits(validation_seconds=0.05)
EVER = Limits(validation_seconds=3600)


def tool(name: str = "test", **fields: Any) -> Tool:
    found = Catalog([binding("http://127.0.0.1:1/", name=name, **fields)]).tool("local", name)
    assert found is not None
    return found


async def test_arguments_that_take_for_ever_to_check_are_refused(driver: ToolDriver) -> None:
    async with ToolServer(*answers(ok())) as server:
        caller = driver.caller(binding(server.url(), input_schema=ENDLESS), limits=SOON)
        result = await start(caller).result()
        assert server.connections == 0
    assert (result.code, result.unknown_outcome) == ("refused_arguments", False)
    assert "could not be checked" in said(result)


async def test_a_result_that_takes_for_ever_to_check_is_a_bad_result(driver: ToolDriver) -> None:
    async with ToolServer(*answers({"structured_content": {}})) as server:
        caller = driver.caller(binding(server.url(), output_schema=ENDLESS), limits=SOON)
        result = await start(caller).result()
    assert (result.code, result.unknown_outcome) == ("bad_result", True)
    assert "could not be checked" in said(result)


async def test_other_calls_go_on_while_a_check_takes_for_ever(driver: ToolDriver) -> None:
    async with ToolServer(*answers(ok())) as server:
        caller = driver.caller(
            binding(server.url(), name="hostile", input_schema=ENDLESS),
            binding(server.url(), name="plain"),
            binding(server.url(), name="tree", input_schema=TREE),
            limits=EVER,
        )
        hostile = [start(caller, name="hostile") for _ in range(MAX_WORKERS * 5)]
        await hostile[0].begun()
        assert said(await start(caller, name="plain").result()) == "ok"
        # Checked in a worker too: the hostile calls take only one of them.
        assert said(await start(caller, '{"next":{"n":1}}', name="tree").result()) == "ok"
        for call in hostile:
            call.running.interrupt()
            assert (await call.result()).unknown_outcome is False


async def test_calls_after_one_that_was_given_up_are_checked_as_ever(driver: ToolDriver) -> None:
    async with ToolServer(*answers(ok())) as server:
        slow = driver.caller(binding(server.url(), input_schema=ENDLESS), limits=SOON)
        assert (await start(slow).result()).code == "refused_arguments"
        tree = driver.caller(binding(server.url(), input_schema=TREE))
        assert said(await start(tree, '{"next":{}}').result()) == "ok"
        assert (await start(tree, '{"next":{"n":"1"}}').result()).code == "refused_arguments"


async def test_a_check_gives_the_same_answer_wherever_it_is_done() -> None:
    padding = "x" * 40_000
    checker = Checker(20)
    try:
        plain = tool(input_schema={"properties": {"n": {"type": "integer"}}})
        for n, refused in (("1", False), ('"1"', True), ("1e999", True)):
            short = await checker.arguments(plain, b'{"n":%s}' % n.encode())
            long = await checker.arguments(plain, f'{{"n":{n},"p":"{padding}"}}'.encode())
            assert (short.failure is not None, long.failure is not None) == (refused, refused)
        text = json.dumps({"content": [{"type": "text", "text": padding}], "is_error": True})
        result = (await checker.result(plain, text.encode())).result
        assert json.loads(text)["content"][0]["text"] in repr(result)
        progress = await checker.progress(plain, f'["{padding}"]'.encode())
        assert progress.failure is None
    finally:
        await checker.aclose()


async def test_closing_ends_the_workers_and_what_they_do() -> None:
    checker = Checker(3600)
    waiting = asyncio.create_task(checker.arguments(tool(input_schema=ENDLESS), b"{}"))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await checker.aclose()
