"""The outcome table: what went wrong, and whether the tool may have done the work anyway."""

from collections.abc import Callable
from typing import Any

import pytest

from brain.wiring import Tuning
from brain_testing.api import Api, Json
from brain_testing.desk import Desk, DeskCall
from brain_testing.manual_clock import ManualClock
from brain_testing.plugin import StartBrain
from brain_testing.reading import only, read_until, text_of

Connect = Callable[..., Api]
TOKEN = "the-token-of-the-tool-service"


def outcome(events: list[Json]) -> tuple[bool, bool]:
    """`is_error` and `unknown_outcome` of the one result."""
    result = only(events, "tool.result")
    return result["is_error"], result["unknown_outcome"]


async def called(api: Api, desk: Desk) -> tuple[str, DeskCall]:
    """A session whose call has arrived."""
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    return session_id, await desk.next_call()


@pytest.mark.requirement("OUT-01", "REPLY-05")
async def test_an_error_that_the_tool_reports_is_known(api: Api, desk: Desk) -> None:
    session_id, call = await called(api, desk)
    call.say("Denied.", is_error=True)
    events = await api.until_idle(session_id)
    assert outcome(events) == (True, False)
    assert text_of(only(events, "tool.result")) == "Denied."
    assert "code" not in only(events, "tool.result")


@pytest.mark.requirement("OUT-01")
async def test_a_tool_may_say_itself_that_it_does_not_know(api: Api, desk: Desk) -> None:
    session_id, call = await called(api, desk)
    call.say("The bank did not answer.", is_error=True, unknown_outcome=True)
    assert outcome(await api.until_idle(session_id)) == (True, True)


@pytest.mark.requirement("OUT-02", "TOOL-02")
async def test_a_call_that_is_refused_before_it_is_sent_is_known_not_to_have_happened(
    api: Api, desk: Desk
) -> None:
    session_id = await api.create("ask")
    assert outcome(await api.turn(session_id, "/call ask 5")) == (True, False)
    assert desk.arrived == []


@pytest.mark.requirement("OUT-03")
async def test_a_service_that_cannot_be_reached_leaves_the_outcome_unknown(
    start_brain: StartBrain, connect: Connect, desk: Desk, unused_tcp_port: int
) -> None:
    nowhere = f"http://127.0.0.1:{unused_tcp_port}/tools/ask"
    api = connect(await start_brain(tools=[desk.binding("ask", url=nowhere)]))
    events = await api.turn(await api.create("ask"), "/call ask {}")
    assert outcome(events) == (True, True)
    assert str(unused_tcp_port) not in text_of(only(events, "tool.result"))


@pytest.mark.requirement("OUT-03")
@pytest.mark.parametrize("begun", [False, True], ids=["before the answer", "within the answer"])
async def test_a_connection_that_drops_leaves_the_outcome_unknown(
    begun: bool, api: Api, desk: Desk
) -> None:
    session_id, call = await called(api, desk)
    async with api.follow(session_id) as frames:
        if begun:
            await call.progress({"half": True})
            await read_until(frames, "tool.progress")
        call.hang_up()
        await read_until(frames, "tool.result")
    assert outcome(await api.until_idle(session_id)) == (True, True)


@pytest.mark.requirement("OUT-03", "OUT-09")
async def test_headers_that_do_not_come_within_30_s_end_the_call(
    start_brain: StartBrain, connect: Connect, desk: Desk
) -> None:
    clock = ManualClock()
    api = connect(await start_brain(tools=[desk.binding("ask")], tuning=Tuning(clock=clock)))
    session_id, call = await called(api, desk)
    await clock.advance(29)
    assert "tool.result" not in str(await api.events(session_id))
    await clock.advance(2)
    events = await api.until_idle(session_id)
    assert outcome(events) == (True, True)
    assert only(events, "tool.result")["code"] == "timeout_headers"
    await call.gone.wait()


@pytest.mark.requirement("OUT-03", "OUT-09")
async def test_a_call_that_outlasts_timeout_seconds_is_cut_off(
    start_brain: StartBrain, connect: Connect, desk: Desk
) -> None:
    clock = ManualClock()
    tools = [desk.binding("ask", timeout_seconds=100)]
    api = connect(await start_brain(tools=tools, tuning=Tuning(clock=clock)))
    session_id, call = await called(api, desk)
    async with api.follow(session_id) as frames:
        await call.progress({"half": True})
        await read_until(frames, "tool.progress")
        await clock.advance(99)
        await call.progress({"half": False})
        await read_until(frames, "tool.progress")
        await clock.advance(2)
        await read_until(frames, "tool.result")
    events = await api.until_idle(session_id)
    assert outcome(events) == (True, True)
    assert only(events, "tool.result")["code"] == "timeout_total"
    await call.gone.wait()


@pytest.mark.requirement("OUT-04", "OUT-08")
@pytest.mark.parametrize("status", [201, 204, 301, 307, 400, 401, 404, 429, 500, 503])
async def test_a_status_other_than_2xx_leaves_the_outcome_unknown_and_its_body_unread(
    status: int, start_brain: StartBrain, connect: Connect, desk: Desk
) -> None:
    tools = [desk.binding("ask", token_env="TOOL_TOKEN")]
    api = connect(await start_brain(tools=tools, env={"TOOL_TOKEN": TOKEN}))
    session_id, call = await called(api, desk)
    fine: Json = {"content": [{"type": "text", "text": "the body of the answer"}]}
    call.reply(fine if status != 204 else b"", status=status)
    events = await api.until_idle(session_id)
    if status == 201:
        assert outcome(events) == (False, False)
        return
    assert outcome(events) == (True, True)
    for secret in ("the body of the answer", TOKEN, desk.url, "/tools/ask"):
        assert secret not in str(events)
    assert len(desk.arrived) == 1


BAD_ANSWERS: dict[str, tuple[bytes, str | None]] = {
    "html": (b"<p>hi</p>", "text/html"),
    "no content type": (b'{"content":[{"type":"text","text":"x"}]}', None),
    "not json": (b"hi", "application/json"),
    "empty": (b"", "application/json"),
    "a list": (b"[]", "application/json"),
    "no content": (b"{}", "application/json"),
    "empty content": (b'{"content":[]}', "application/json"),
    "unknown field": (
        b'{"content":[{"type":"text","text":"x"}],"colour":1}',
        "application/json",
    ),
    "unknown block": (b'{"content":[{"type":"audio","data":"eA=="}]}', "application/json"),
    "stream without result": (b'event: progress\ndata: {"a":1}\n\n', "text/event-stream"),
    "unknown event": (
        b'event: done\ndata: {"content":[{"type":"text","text":"x"}]}\n\n',
        "text/event-stream",
    ),
    "progress that is not json": (
        b'event: progress\ndata: half\n\nevent: result\ndata: {"content":[]}\n\n',
        "text/event-stream",
    ),
}


@pytest.mark.requirement("OUT-05")
@pytest.mark.parametrize("answer", BAD_ANSWERS.values(), ids=BAD_ANSWERS.keys())
async def test_an_answer_that_is_no_result_leaves_the_outcome_unknown(
    answer: tuple[bytes, str | None], api: Api, desk: Desk
) -> None:
    session_id, call = await called(api, desk)
    body, content_type = answer
    call.reply(body, content_type=content_type)
    events = await api.until_idle(session_id)
    assert outcome(events) == (True, True)
    assert only(events, "tool.result")["code"]


@pytest.mark.requirement("OUT-05", "OUT-10")
@pytest.mark.parametrize("beyond", [0, 1])
async def test_max_output_bytes_is_the_largest_answer_that_is_taken(
    beyond: int, start_brain: StartBrain, connect: Connect, desk: Desk
) -> None:
    tools = [desk.binding("ask", max_output_bytes=1000)]
    api = connect(await start_brain(tools=tools))
    session_id, call = await called(api, desk)
    empty = b'{"content":[{"type":"text","text":""}]}'
    call.reply(empty.replace(b'""', b'"' + b"x" * (1000 + beyond - len(empty)) + b'"'))
    events = await api.until_idle(session_id)
    assert outcome(events) == ((True, True) if beyond else (False, False))
    if beyond:
        assert only(events, "tool.result")["code"] == "too_large"


@pytest.mark.requirement("OUT-06", "OUT-11")
@pytest.mark.parametrize("how", ["interrupt", "close"])
async def test_a_call_that_is_cancelled_in_flight_leaves_the_outcome_unknown(
    how: str, api: Api, desk: Desk
) -> None:
    session_id, call = await called(api, desk)
    assert (await api.http.post(f"/sessions/{session_id}/{how}")).status_code == 200
    events = await api.events(session_id)
    assert outcome(events) == (True, True)
    assert only(events, "tool.result")["code"] == "interrupted"
    await call.gone.wait()


@pytest.mark.requirement("OUT-08")
async def test_the_model_is_told_whether_the_action_may_have_happened(api: Api, desk: Desk) -> None:
    told: dict[Any, str] = {}
    session_id, call = await called(api, desk)
    call.reply(b"", status=500)
    told["unknown"] = text_of(only(await api.until_idle(session_id), "tool.result"))
    told["known"] = text_of(
        only(await api.turn(await api.create("ask"), "/call ask 5"), "tool.result")
    )
    assert "may have happened" in told["unknown"].replace("may or may not", "may")
    assert "nothing happened" in told["known"]
