"""What a tool service does with calls that take long, say much, or end early."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import msgspec
import pytest

from tool_service import Call, Limits, ToolService

pytestmark = pytest.mark.requirement("SVC-02")
Start = Callable[[ToolService], Awaitable[httpx2.AsyncClient]]
Body = Callable[..., dict[str, Any]]
BOUND = 20


async def test_a_silent_call_streams_comments_until_its_result(
    service: ToolService, start: Start, call: Body
) -> None:
    goes_on = asyncio.Event()

    @service.tool("Wait.")
    async def wait() -> str:
        await goes_on.wait()
        return "done"

    http = await start(service)
    async with asyncio.timeout(BOUND), http.stream("POST", "/tools/wait", json=call()) as answer:
        assert answer.headers["content-type"] == "text/event-stream"
        said = ""
        async for text in answer.aiter_text():
            said += text
            if said == ":\n\n" * 3:
                goes_on.set()

    comments, _, result = said.partition("event: result\n")
    assert set(comments.split("\n\n")) == {":", ""}
    assert result == 'data: {"content":[{"type":"text","text":"done"}]}\n\n'


async def test_a_client_that_goes_is_waited_for_by_no_one_and_the_function_cleans_up(
    service: ToolService, start: Start, call: Body
) -> None:
    began, cleaned = asyncio.Event(), asyncio.Event()

    @service.tool("Wait.")
    async def wait() -> str:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # cleaning up may itself take time
            cleaned.set()
        return "never"

    http = await start(service)
    request = asyncio.create_task(http.post("/tools/wait", json=call()))
    await asyncio.wait_for(began.wait(), BOUND)
    request.cancel()

    await asyncio.wait_for(cleaned.wait(), BOUND)


async def test_a_call_is_not_run_again_even_once_its_first_client_has_gone(
    service: ToolService, start: Start, call: Body
) -> None:
    began: asyncio.Queue[str] = asyncio.Queue()

    @service.tool("Wait.")
    async def wait(call: Call) -> str:
        began.put_nowait(call.call_id)
        await asyncio.Event().wait()
        return "never"

    http = await start(service)
    body = call()
    request = asyncio.create_task(http.post("/tools/wait", json=body))
    await asyncio.wait_for(began.get(), BOUND)
    during = await http.post("/tools/wait", json=body)
    request.cancel()
    afterwards = await http.post("/tools/wait", json=body)

    assert (during.status_code, afterwards.status_code) == (409, 409)
    assert began.empty()


async def test_more_calls_at_once_than_allowed_are_errors_of_which_nothing_happened(
    service: ToolService, start: Start, call: Body
) -> None:
    began: asyncio.Queue[None] = asyncio.Queue()
    goes_on = asyncio.Event()

    @service.tool("Wait.")
    async def wait() -> str:
        began.put_nowait(None)
        await goes_on.wait()
        return "done"

    http = await start(service)
    running = [asyncio.create_task(http.post("/tools/wait", json=call())) for _ in range(3)]
    for _ in running:
        await asyncio.wait_for(began.get(), BOUND)
    refused = call()
    busy = await http.post("/tools/wait", json=refused)
    goes_on.set()
    await asyncio.gather(*running)
    later = await http.post("/tools/wait", json=refused)

    assert busy.status_code == 200
    assert busy.json()["is_error"] is True
    assert "unknown_outcome" not in busy.json()
    assert later.json()["content"][0]["text"] == "done"


async def test_progress_without_end_leaves_room_for_the_result(
    service: ToolService, start: Start, call: Body
) -> None:
    @service.tool("Chatter.", max_output_bytes=10_000)
    async def chatter(call: Call) -> str:
        for number in range(1000):
            await call.progress({"line": number, "text": "x" * 100})
        return "done"

    http = await start(service)
    answer = await http.post("/tools/chatter", json=call())

    assert len(answer.content) <= 10_000
    assert answer.text.count("event: progress") > 10
    assert answer.text.endswith('data: {"content":[{"type":"text","text":"done"}]}\n\n')


async def test_a_result_that_does_not_fit_is_an_error_that_says_so(
    service: ToolService, start: Start, call: Body
) -> None:
    @service.tool("Much.", max_output_bytes=10_000)
    async def much() -> str:
        return "x" * 20_000

    http = await start(service)
    answer = await http.post("/tools/much", json=call())

    assert answer.json()["is_error"] is True
    assert "20" in answer.json()["content"][0]["text"]
    assert len(answer.content) < 1000


@pytest.mark.parametrize("bad", [object(), {1: object()}])
async def test_an_answer_without_json_is_an_unknown_outcome(
    service: ToolService, start: Start, call: Body, bad: object
) -> None:
    @service.tool("Odd.")
    async def odd() -> object:
        return bad

    @service.tool("Odd progress.")
    async def odd_progress(call: Call) -> str:
        await call.progress(bad)
        return "never"

    http = await start(service)
    for name in ("odd", "odd_progress"):
        answer = await http.post(f"/tools/{name}", json=call())
        assert answer.json()["unknown_outcome"] is True


async def test_numbers_keep_their_value(service: ToolService, start: Start, call: Body) -> None:
    @service.tool("Same.", input_schema={"type": "object"})
    async def same(n: int) -> dict[str, int]:
        return {"n": n}

    http = await start(service)
    answer = await http.post("/tools/same", json=call(n=12345678901234567890123))

    assert msgspec.json.decode(answer.content)["structured_content"]["n"] == 12345678901234567890123


async def test_a_body_that_never_ends_is_given_up(start: Start, call: Body) -> None:
    hasty = ToolService("test", token_env="TEST_KEY", port=8090, limits=Limits(body_seconds=0.05))

    @hasty.tool("Nothing.")
    async def nothing() -> str:
        return ""

    http = await start(hasty)
    headers = {**http.headers, "Content-Length": "100", "Content-Type": "application/json"}
    host = f"{http.base_url.host}", http.base_url.port
    reader, writer = await asyncio.open_connection(*host)
    lines = [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join(["POST /tools/nothing HTTP/1.1", "Host: x", *lines, "", "{"]).encode())
    async with asyncio.timeout(BOUND):
        status = await reader.readline()
    writer.close()
    await writer.wait_closed()

    assert b" 408 " in status
