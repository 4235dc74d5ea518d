"""What a tool service is sent: what `tools.md` says, and nothing before it is in the log."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from brain_testing.api import Api
from brain_testing.desk import Desk, DeskCall
from brain_testing.plugin import StartBrain
from brain_testing.reading import of_type, only, text_of, types

Connect = Callable[..., Api]
TOKEN = "the-token-of-the-tool-service"
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.requirement("TOOL-01")
async def test_the_service_finds_its_own_call_in_the_log(
    start_brain: StartBrain, connect: Connect, desk: Desk
) -> None:
    seen: list[list[dict[str, Any]]] = []

    async def look_at_the_log(call: DeskCall) -> None:
        seen.append(await api.events(call.body["session_id"]))
        call.say("done")

    api = connect(await start_brain(tools=[desk.binding("look", look_at_the_log)]))
    session_id = await api.create("look")
    await api.turn(session_id, '/call look {"n":0}\n/call look {"n":1}\n/call look {"n":2}')

    assert len(seen) == 3
    for call, events in zip(desk.arrived, seen, strict=True):
        called = of_type(events, "tool.call")
        assert [each["arguments"]["n"] for each in called] == [0, 1, 2]
        assert call.body["call_id"] in [each["call_id"] for each in called]


@pytest.mark.requirement("TOOL-01")
async def test_every_call_has_an_id_of_its_own_that_brain_made(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    ids: list[str] = []
    for _ in range(2):
        await api.send(session_id, "/call ask {}\n/call ask {}")
        calls = [await desk.next_call() for _ in range(2)]
        for call in calls:
            call.say("done")
        await api.until_idle(session_id)
        ids += [call.body["call_id"] for call in calls]
    assert len(set(ids)) == 4
    assert all(each.startswith("call_") for each in ids)


@pytest.mark.requirement("TOOL-03")
async def test_the_request_is_a_post_to_exactly_the_url(
    start_brain: StartBrain, connect: Connect, desk: Desk
) -> None:
    target = "/tools/ask?b=%20x&a=1&empty=&plus=a+b"
    brain = await start_brain(tools=[desk.binding("ask", url=desk.url + target)])
    api = connect(brain)
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    call = await desk.next_call()
    assert (call.method, call.target) == ("POST", target)
    call.say("done")


@pytest.mark.requirement("TOOL-03")
async def test_the_headers_are_those_of_the_protocol(
    start_brain: StartBrain, connect: Connect, desk: Desk
) -> None:
    tools = [desk.binding("ask", token_env="TOOL_TOKEN")]
    api = connect(await start_brain(tools=tools, env={"TOOL_TOKEN": TOKEN}))
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    call = await desk.next_call()
    assert call.headers.getall("content-type") == ["application/json"]
    assert call.headers.getall("accept") == ["application/json, text/event-stream"]
    assert call.headers.getall("accept-encoding") == ["identity"]
    assert call.headers.getall("authorization") == [f"Bearer {TOKEN}"]
    assert "cookie" not in call.headers
    call.say("done")


@pytest.mark.requirement("TOOL-03")
async def test_without_a_token_there_is_no_authorization(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    call = await desk.next_call()
    assert "authorization" not in call.headers
    call.say("done")


@pytest.mark.requirement("TOOL-03")
async def test_a_call_belongs_to_the_trace_of_the_message(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    message = {"content": "/call ask {}"}
    await api.http.post(
        f"/sessions/{session_id}/messages", json=message, headers={"traceparent": TRACE}
    )
    call = await desk.next_call()
    version, trace_id, span_id, flags = call.headers["traceparent"].split("-")
    assert (version, trace_id, flags) == ("00", TRACE.split("-")[1], "01")
    assert len(span_id) == 16
    call.say("done")
    await api.until_idle(session_id)


@pytest.mark.requirement("TOOL-03")
async def test_a_call_of_no_trace_carries_no_traceparent(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    call = await desk.next_call()
    assert "traceparent" not in call.headers
    call.say("done")


@pytest.mark.requirement("TOOL-04")
async def test_the_body_has_the_sessions_identity_and_the_arguments(api: Api, desk: Desk) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, '/call ask {"text":"hello"}')
    call = await desk.next_call()
    called = only(await api.events(session_id), "tool.call")
    assert call.body == {
        "tenant_id": "local",
        "session_id": session_id,
        "call_id": called["call_id"],
        "arguments": {"text": "hello"},
    }
    call.say("done")


@pytest.mark.requirement("TOOL-04")
async def test_a_tool_that_may_inspect_gets_a_token_and_an_address(
    start_brain: StartBrain, connect: Connect, desk: Desk
) -> None:
    brain = await start_brain(
        tools=[desk.binding("ask", inspect_session=True)],
        extra={"public_url": "https://brain.example"},
    )
    api = connect(brain)
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    call = await desk.next_call()
    assert call.body.keys() == {
        "tenant_id",
        "session_id",
        "call_id",
        "arguments",
        "inspection_token",
        "brain_url",
    }
    assert call.body["brain_url"] == "https://brain.example"
    call.say("done")
    events = await api.until_idle(session_id)
    assert call.body["inspection_token"] not in json.dumps(events)


EXACT_ARGUMENTS = {
    "20 digits": '{"n":12345678901234567890,"m":-98765432109876543210}',
    "key order": '{"z":1,"a":2,"m":{"y":1,"b":2}}',
    "floats": '{"a":1.0,"b":1,"c":0.10,"d":-0.0,"e":1e5,"f":1E-7,"g":3.141592653589793238462643}',
    "unicode": '{"é":"ü","clef":"𝄞","family":"👨‍👩‍👧","rtl":"\u202eabc","nul":"a\\u0000b"}',
    "escapes": '{"a":"\\u00e9\\ud834\\udd1e\\/","b":"\\"\\\\\\n\\t"}',
    "line separators": '{"a":"x\u0085y"}',
    "empty names": '{"":{"":[[],{},"",null,true,false]}}',
    "what looks like ours": '{"tenant_id":"x","session_id":"y","call_id":"z"}',
}


@pytest.mark.requirement("TOOL-04")
@pytest.mark.parametrize("arguments", EXACT_ARGUMENTS.values(), ids=EXACT_ARGUMENTS.keys())
async def test_arguments_reach_the_service_exactly_as_the_model_wrote_them(
    arguments: str, api: Api, desk: Desk
) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, f"/call ask {arguments}")
    call = await desk.next_call()
    assert b'"arguments":' + arguments.encode() in call.raw.replace(
        b'"arguments": ', b'"arguments":'
    )
    answer = await api.http.get(f"/sessions/{session_id}/events")
    assert f'"arguments":{arguments}' in answer.text
    call.say("done")


CHECKED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "n": {"type": "number"},
        "at": {"type": "string", "format": "date-time"},
        "mail": {"type": "string", "format": "email"},
    },
    "required": ["n"],
    "additionalProperties": False,
}
WRONG_ARGUMENTS = {
    "text for a number": '{"n":"42"}',
    "true for a number": '{"n":true}',
    "missing": "{}",
    "unknown": '{"n":1,"x":2}',
    "date": '{"n":1,"at":"yesterday"}',
    "mail": '{"n":1,"mail":"nobody"}',
    "array": "[1]",
    "string": '"n"',
    "null": "null",
    "number": "5",
    "not json": "{n: 1}",
    "cut": '{"n":1',
    "two values": '{"n":1} {"n":2}',
    "nan": '{"n":NaN}',
}


@pytest.mark.requirement("TOOL-02", "OUT-02", "OUT-08")
@pytest.mark.parametrize("arguments", WRONG_ARGUMENTS.values(), ids=WRONG_ARGUMENTS.keys())
async def test_arguments_that_do_not_fit_are_refused_and_never_sent(
    arguments: str, start_brain: StartBrain, connect: Connect, desk: Desk
) -> None:
    api = connect(await start_brain(tools=[desk.binding("ask", input_schema=CHECKED)]))
    session_id = await api.create("ask")
    events = await api.turn(session_id, f"/call ask {arguments}")
    result = only(events, "tool.result")
    assert (result["is_error"], result["unknown_outcome"]) == (True, False)
    assert result["code"] == "refused_arguments"
    assert text_of(result)
    assert types(events).count("tool.call") == 1
    assert desk.arrived == []


@pytest.mark.requirement("TOOL-02")
@pytest.mark.parametrize(
    "arguments",
    ['{"n":1}', '{"n":1.5,"at":"2025-01-31T12:00:00Z"}', ' { "n" : 1 , "mail" : "a@b.org" } '],
)
async def test_arguments_that_fit_are_sent(
    arguments: str, start_brain: StartBrain, connect: Connect, desk: Desk
) -> None:
    api = connect(await start_brain(tools=[desk.binding("ask", input_schema=CHECKED)]))
    session_id = await api.create("ask")
    await api.send(session_id, f"/call ask {arguments}")
    call = await desk.next_call()
    assert call.arguments == json.loads(arguments)
    call.say("done")


@pytest.mark.requirement("OUT-02")
async def test_a_tool_that_the_session_did_not_enable_is_refused(
    start_brain: StartBrain, connect: Connect, desk: Desk
) -> None:
    tools = [desk.binding("ask"), desk.binding("other")]
    api = connect(await start_brain(tools=tools))
    session_id = await api.create("ask")
    results = of_type(await api.turn(session_id, "/call other {}\n/call nobody {}"), "tool.result")
    assert len(results) == 2
    for result in results:
        assert (result["is_error"], result["unknown_outcome"]) == (True, False)
        assert result["code"].startswith("refused_")
    assert desk.arrived == []
