"""What a request may look like, and what the edge says of one that doesn't."""

import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest

from brain_testing.api import Api
from brain_testing.scripted_brain import ScriptedBrain
from brainapi.session.v1 import session_pb2
from brainapi.session.v1 import session_service_pb2 as pb

pytestmark = pytest.mark.asyncio(loop_scope="module")

JSON = {"Content-Type": "application/json"}
PNG = base64.b64encode(b"not really a picture").decode()


@pytest.mark.requirement("API-02")
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"content":"hi"} {}',
        b'{"content":NaN}',
        b"{'content':'hi'}",
        b'{"content":"\xff"}',
        b'{"content":"\\ud800"}',
        b'\xef\xbb\xbf{"content":"hi"}',
        b'{"content":"a\nb"}',
        b'{"content":1e999}',
        b'{"content":' + b"[" * 100_000,
    ],
)
async def test_what_is_not_json_is_400(api: Api, body: bytes) -> None:
    answer = await api.http.post("/sessions/s/messages", content=body, headers=JSON)
    assert answer.status_code == 400


@pytest.mark.requirement("API-02")
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/jsonp"},
        {"Content-Type": "application/json; charset=latin-1"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
async def test_another_media_type_is_415(api: Api, headers: dict[str, str]) -> None:
    answer = await api.http.post(
        "/sessions/s/messages", content=b'{"content":"hi"}', headers=headers
    )
    assert answer.status_code == 415


@pytest.mark.parametrize(
    "media_type",
    ["application/json", "Application/JSON", 'application/json; charset="UTF-8"; v=1'],
)
async def test_the_media_type_may_have_parameters(api: Api, media_type: str) -> None:
    answer = await api.http.post(
        "/sessions/s/messages", content=b'{"content":"hi"}', headers={"Content-Type": media_type}
    )
    assert answer.status_code == 202


@pytest.mark.requirement("API-02")
@pytest.mark.parametrize("excess", [0, 1])
async def test_a_body_of_4_mib_is_the_largest(api: Api, excess: int) -> None:
    body = b'{"content":"' + b"x" * (4 * 1024 * 1024 - 14 + excess) + b'"}'
    answer = await api.http.post("/sessions/s/messages", content=body, headers=JSON)
    assert answer.status_code == (413 if excess else 202)


@pytest.mark.requirement("API-02")
async def test_a_body_of_unknown_length_is_cut_off_at_the_limit(api: Api) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(160):
            yield b"x" * 65536

    answer = await api.http.post("/sessions/s/messages", content=endless(), headers=JSON)
    assert answer.status_code == 413


def _session(**changes: Any) -> dict[str, Any]:
    return {"harness": "pi", "config": {"model": "demo/script"}, **changes}


def _config(**changes: Any) -> dict[str, Any]:
    return _session(config={"model": "demo/script", **changes})


@pytest.mark.requirement("API-01", "API-02")
@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ([], [""]),
        ("x", [""]),
        ({}, ["/harness", "/config"]),
        (_session(harness=""), ["/harness"]),
        (_session(config=None), ["/config"]),
        (_session(extra=1), ["/extra"]),
        (_session(**{"a/b~c": 1}), ["/a~1b~0c"]),
        (_session(config={}), ["/config/model"]),
        (_session(metadata=[]), ["/metadata"]),
        (_session(metadata=None), ["/metadata"]),
        (_session(metadata={"x": "y" * 17_000}), ["/metadata"]),
        (_config(model=""), ["/config/model"]),
        (_config(tools="echo"), ["/config/tools"]),
        (_config(tools=["echo", 1]), ["/config/tools/1"]),
        (_config(tools=["echo", "a", "echo"]), ["/config/tools"]),
        (_config(max_steps=0), ["/config/max_steps"]),
        (_config(max_steps=True), ["/config/max_steps"]),
        (_config(max_steps="5"), ["/config/max_steps"]),
        (_config(max_steps=1.5), ["/config/max_steps"]),
        (_config(max_steps=2**31), ["/config/max_steps"]),
        (_config(max_output_tokens=0), ["/config/max_output_tokens"]),
        (_config(temperature=2.1), ["/config/temperature"]),
        (_config(thinking="much"), ["/config/thinking"]),
        (_config(budget={"tokens": 0}), ["/config/budget/tokens"]),
        (_config(budget={"cost_usd": -1}), ["/config/budget/cost_usd"]),
        (_config(budget={"euros": 1}), ["/config/budget/euros"]),
        (_config(modle="x"), ["/config/modle"]),
    ],
)
async def test_each_wrong_part_of_a_session_is_pointed_at(
    api: Api, body: Any, pointers: list[str]
) -> None:
    answer = await api.http.post("/sessions", json=body)
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == pointers


@pytest.mark.requirement("API-02", "MSG-04")
@pytest.mark.parametrize(
    ("content", "pointer"),
    [
        ("", "/content"),
        ([], "/content"),
        (None, "/content"),
        (5, "/content"),
        ({"type": "text", "text": "hi"}, "/content"),
        (["hi"], "/content/0"),
        ([{"type": "text"}], "/content/0/text"),
        ([{"type": "text", "text": ""}], "/content/0/text"),
        ([{"type": "text", "text": "hi", "image": 1}], "/content/0/image"),
        ([{"type": "text", "text": "hi"}, {"type": "video"}], "/content/1"),
        ([{"text": "hi"}], "/content/0"),
        ([{"type": "image", "data": PNG}], "/content/0/mime_type"),
        ([{"type": "image", "data": PNG, "mime_type": "text/plain"}], "/content/0/mime_type"),
        ([{"type": "image", "data": "", "mime_type": "image/png"}], "/content/0/data"),
        ([{"type": "image", "data": "a", "mime_type": "image/png"}], "/content/0/data"),
        ([{"type": "image", "data": "ab-_", "mime_type": "image/png"}], "/content/0/data"),
        (
            [{"type": "image", "data": f"data:image/png;base64,{PNG}", "mime_type": "image/png"}],
            "/content/0/data",
        ),
        ([{"type": "image", "data": PNG + "\n", "mime_type": "image/png"}], "/content/0/data"),
    ],
)
async def test_content_that_is_not_text_or_blocks_is_pointed_at(
    api: Api, content: Any, pointer: str
) -> None:
    answer = await api.http.post("/sessions/s/messages", json={"content": content})
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


@pytest.mark.parametrize(
    "body",
    [{"content": [1] * 100_000}, {"content": "hi", **{f"x{n}": n for n in range(1_000)}}],
)
async def test_a_body_that_is_wrong_everywhere_gets_a_short_answer(
    api: Api, body: dict[str, Any]
) -> None:
    answer = await api.http.post("/sessions/s/messages", json=body)
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [""]


@pytest.mark.requirement("MSG-04")
async def test_blocks_reach_the_engine_as_they_are(brain: ScriptedBrain, api: Api) -> None:
    blocks = [
        {"type": "text", "text": "look: é \u0000"},
        {"type": "image", "data": PNG, "mime_type": "image/png"},
    ]
    await api.send("s", blocks, delivery="steer")
    sent = brain.engine.requests[-1]
    assert isinstance(sent, pb.SendMessageRequest)
    assert sent.delivery == session_pb2.DELIVERY_STEER
    assert sent.content[0].text.text == "look: é \u0000"
    assert (sent.content[1].image.data, sent.content[1].image.mime_type) == (PNG, "image/png")


@pytest.mark.requirement("SES-02")
async def test_metadata_goes_through_digit_for_digit(brain: ScriptedBrain, api: Api) -> None:
    body = b"""{"config": {"model": "m"}, "harness": "pi",
      "metadata": {"z": 1.0, "a": 12345678901234567890, "n": 1E5, "s": "\\u00e9 /"}}"""
    answer = await api.http.post("/sessions", content=body, headers=JSON)
    kept = '{"z":1.0,"a":12345678901234567890,"n":1E5,"s":"\\u00e9 /"}'
    assert answer.status_code == 201
    assert f'"metadata":{kept}' in answer.text
    sent = brain.engine.requests[-1]
    assert isinstance(sent, pb.CreateSessionRequest)
    assert sent.metadata_json == kept.encode()


@pytest.mark.requirement("SES-02")
async def test_a_config_comes_back_whole_with_null_for_what_is_unset(api: Api) -> None:
    made = await api.http.post("/sessions", json=_config(tools=["b", "a"], temperature=0))
    assert made.headers["location"] == "http://127.0.0.1:1/sessions/ses_new"
    assert made.json()["config"] == {
        "model": "demo/script",
        "tools": ["b", "a"],
        "system_prompt": None,
        "max_steps": 100,
        "max_output_tokens": None,
        "temperature": 0.0,
        "thinking": "off",
        "budget": None,
    }
    assert set(made.json()["usage"].values()) == {None}


async def test_a_config_that_came_back_can_be_sent_again(api: Api) -> None:
    full = _config(system_prompt="Be brief.", budget={"tokens": 5}, thinking="low", max_steps=3)
    config = (await api.http.post("/sessions", json=full)).json()["config"]
    again = await api.http.post("/sessions", json=_session(config=config))
    assert again.status_code == 201
    assert again.json()["config"] == config
    assert config["budget"] == {"tokens": 5, "cost_usd": None}


@pytest.mark.parametrize("path", ["/sessions/s/interrupt", "/sessions/s/close"])
async def test_where_the_body_is_optional_none_is_needed(api: Api, path: str) -> None:
    assert (await api.http.post(path)).status_code == 200
    assert (await api.http.post(path, content=b"", headers=JSON)).status_code == 200
    assert (await api.http.post(path, json={})).status_code == 200
    assert (await api.http.post(path, content=b"{}")).status_code == 415
    assert (await api.http.post(path, json={"keep": 1})).status_code == 422
    assert (await api.http.post(path, json=[])).status_code == 422


async def test_interrupt_can_keep_the_queue(brain: ScriptedBrain, api: Api) -> None:
    await api.http.post("/sessions/s/interrupt", json={"keep_queue": True})
    sent = brain.engine.requests[-1]
    assert isinstance(sent, pb.InterruptTurnRequest)
    assert sent.keep_queue


@pytest.mark.parametrize(
    ("header", "passed_on"),
    [
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", True),
        ("00-00000000000000000000000000000000-b7ad6b7169203331-01", False),
        ("nonsense", False),
        (None, False),
    ],
)
async def test_a_valid_traceparent_goes_with_the_message(
    brain: ScriptedBrain, api: Api, header: str | None, passed_on: bool
) -> None:
    headers = {} if header is None else {"traceparent": header}
    body = {"content": "hi"}
    answer = await api.http.post("/sessions/s/messages", json=body, headers=headers)
    assert answer.status_code == 202
    sent = brain.engine.requests[-1]
    assert isinstance(sent, pb.SendMessageRequest)
    assert sent.traceparent == (header if passed_on else "")


@pytest.mark.requirement("API-02")
@pytest.mark.parametrize(
    ("path", "pointer"),
    [
        ("/sessions?limit=0", "/query/limit"),
        ("/sessions?limit=201", "/query/limit"),
        ("/sessions?limit=5.0", "/query/limit"),
        ("/sessions?limit=%2B5", "/query/limit"),
        ("/sessions?limit=", "/query/limit"),
        ("/sessions?status=open", "/query/status"),
        ("/sessions?page=2", "/query/page"),
        ("/sessions?limit=5&limit=6", "/query/limit"),
        ("/sessions/s?x=1", "/query/x"),
        ("/catalog?x=1", "/query/x"),
        ("/sessions/s/messages?status=all", "/query/status"),
        ("/sessions/s/events?after=-1", "/query/after"),
        ("/sessions/s/events?after=01", "/query/after"),
        ("/sessions/s/events?after=9223372036854775808", "/query/after"),
        ("/sessions/s/events?limit=1001", "/query/limit"),
        ("/sessions/s/events?until=done", "/query/until"),
        ("/sessions/s/events?afer=3", "/query/afer"),
    ],
)
async def test_a_wrong_query_parameter_is_pointed_at(api: Api, path: str, pointer: str) -> None:
    answer = await api.http.get(path)
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
