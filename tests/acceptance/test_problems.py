"""What is wrong with a request is said as a problem document, and nothing else is."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from brain_testing.api import Api
from brain_testing.running import RunningBrain

FOUR_MIB = 4 * 1024 * 1024
JSON = {"Content-Type": "application/json"}
CONFIG = {"model": "demo/script"}
LEAKS = ("Traceback", ".py", "/work/", "site-packages", "engine.sock", "grpc", "brain.db", "0x")


def assert_problem(answer: httpx2.Response, status: int, brain: RunningBrain) -> Any:
    """The answer is a problem document with this status, and tells nothing of the inside."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert {"type", "title", "status", "detail"} <= document.keys()
    assert document["status"] == status
    assert all(document[field] for field in ("type", "title", "detail"))
    told = answer.text + str(answer.headers)
    assert not [leak for leak in (*LEAKS, str(brain.folder)) if leak in told]
    return document


@pytest.mark.requirement("API-01", "API-02")
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"harness":"pi",',
        b"{'harness':'pi'}",
        b'{"harness":"pi"} {}',
        b'{"harness":NaN}',
        b'{"harness":"\xff\xfe"}',
        b"\x00",
        b"[" * 100_000,
    ],
    ids=["empty", "cut", "comma", "quotes", "two", "nan", "not-utf8", "nul", "deep"],
)
async def test_malformed_json_is_400(body: bytes, brain: RunningBrain, api: Api) -> None:
    session_id = await api.create()
    for path in ("/sessions", f"/sessions/{session_id}/messages"):
        assert_problem(await api.http.post(path, content=body, headers=JSON), 400, brain)


@pytest.mark.requirement("API-02")
@pytest.mark.parametrize(
    "media_type",
    [
        None,
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonx",
        "application/json; charset=latin-1",
    ],
)
async def test_a_body_that_is_not_called_json_is_415(
    media_type: str | None, brain: RunningBrain, api: Api
) -> None:
    session_id = await api.create()
    headers = {"Content-Type": media_type} if media_type else {}
    answer = await api.http.post(
        f"/sessions/{session_id}/messages", content=b'{"content":"hi"}', headers=headers
    )
    assert_problem(answer, 415, brain)


@pytest.mark.requirement("API-02")
@pytest.mark.parametrize("media_type", ["application/json; charset=utf-8", "Application/JSON"])
async def test_json_may_be_called_json_in_any_correct_way(media_type: str, api: Api) -> None:
    session_id = await api.create()
    answer = await api.http.post(
        f"/sessions/{session_id}/messages",
        content=b'{"content":"hi"}',
        headers={"Content-Type": media_type},
    )
    assert answer.status_code == 202


def message_of(size: int) -> bytes:
    """A message whose body has exactly this many bytes."""
    frame = b'{"content":""}'
    return frame[:-2] + b"x" * (size - len(frame)) + frame[-2:]


async def in_chunks(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), 65_536):
        yield body[start : start + 65_536]


@pytest.mark.requirement("API-02")
@pytest.mark.parametrize("announced", [True, False], ids=["content-length", "chunked"])
async def test_a_body_of_more_than_4_mib_is_413(
    announced: bool, brain: RunningBrain, api: Api
) -> None:
    session_id = await api.create()
    body = message_of(FOUR_MIB + 1)
    answer = await api.http.post(
        f"/sessions/{session_id}/messages",
        content=body if announced else in_chunks(body),
        headers=JSON,
    )
    assert_problem(answer, 413, brain)
    assert (await api.session(session_id))["last_seq"] == 1


@pytest.mark.requirement("API-02")
@pytest.mark.parametrize("announced", [True, False], ids=["content-length", "chunked"])
async def test_a_body_of_exactly_4_mib_is_taken(announced: bool, api: Api) -> None:
    session_id = await api.create()
    body = message_of(FOUR_MIB)
    answer = await api.http.post(
        f"/sessions/{session_id}/messages",
        content=body if announced else in_chunks(body),
        headers=JSON,
    )
    assert answer.status_code == 202, answer.text


WRONG_SESSIONS: list[tuple[str, Any, set[str]]] = [
    ("not-an-object", [], {""}),
    ("nothing", {}, {"/harness", "/config"}),
    ("no-model", {"harness": "pi", "config": {}}, {"/config/model"}),
    ("unknown-harness", {"harness": "tau", "config": CONFIG}, {"/harness"}),
    (
        "unknown-model",
        {"harness": "pi", "config": {"model": "nobody/nothing"}},
        {"/config/model"},
    ),
    (
        "two-slashes",
        {"harness": "pi", "config": {"model": "demo/script/more"}},
        {"/config/model"},
    ),
    ("no-provider", {"harness": "pi", "config": {"model": "script"}}, {"/config/model"}),
    ("unknown-field", {"harness": "pi", "config": CONFIG, "colour": 1}, {"/colour"}),
    (
        "unknown-field-inside",
        {"harness": "pi", "config": {**CONFIG, "colour": 1}},
        {"/config/colour"},
    ),
    (
        "tools-not-a-list",
        {"harness": "pi", "config": {**CONFIG, "tools": "ask"}},
        {"/config/tools"},
    ),
    (
        "tool-not-a-name",
        {"harness": "pi", "config": {**CONFIG, "tools": ["ask", 7]}},
        {"/config/tools/1"},
    ),
    (
        "two-unknown-tools",
        {"harness": "pi", "config": {**CONFIG, "tools": ["one", "ask", "two"]}},
        {"/config/tools/0", "/config/tools/2"},
    ),
    (
        "number-as-text",
        {"harness": "pi", "config": {**CONFIG, "max_steps": "5"}},
        {"/config/max_steps"},
    ),
    ("no-steps", {"harness": "pi", "config": {**CONFIG, "max_steps": 0}}, {"/config/max_steps"}),
    (
        "true-is-no-number",
        {"harness": "pi", "config": {**CONFIG, "max_steps": True}},
        {"/config/max_steps"},
    ),
    (
        "thinking",
        {"harness": "pi", "config": {**CONFIG, "thinking": "hard"}},
        {"/config/thinking"},
    ),
    ("metadata", {"harness": "pi", "config": CONFIG, "metadata": [1]}, {"/metadata"}),
    (
        "several-at-once",
        {"harness": 5, "config": {"model": 5, "tools": [5]}},
        {"/harness", "/config/model", "/config/tools/0"},
    ),
]


@pytest.mark.requirement("API-01", "API-02", "SES-02", "MODEL-02")
@pytest.mark.parametrize(
    ("body", "pointers"),
    [case[1:] for case in WRONG_SESSIONS],
    ids=[case[0] for case in WRONG_SESSIONS],
)
async def test_a_session_that_cannot_be_made_is_422_and_says_where(
    body: Any, pointers: set[str], brain: RunningBrain, api: Api
) -> None:
    document = assert_problem(await api.http.post("/sessions", json=body), 422, brain)
    assert {error["pointer"] for error in document["errors"]} == pointers
    assert all(error["detail"] for error in document["errors"])
    assert (await api.http.get("/sessions")).json()["sessions"] == []


WRONG_MESSAGES: list[tuple[str, Any, set[str]]] = [
    ("nothing", {}, {"/content"}),
    ("null", {"content": None}, {"/content"}),
    ("no-blocks", {"content": []}, {"/content"}),
    ("unknown-block", {"content": [{"type": "video", "url": "x"}]}, {"/content/0"}),
    (
        "text-without-text",
        {"content": [{"type": "text", "text": "a"}, {"type": "text"}]},
        {"/content/1/text"},
    ),
    ("delivery", {"content": "hi", "delivery": "now"}, {"/delivery"}),
    ("unknown-field", {"content": "hi", "role": "system"}, {"/role"}),
]


@pytest.mark.requirement("API-01", "API-02")
@pytest.mark.parametrize(
    ("body", "pointers"),
    [case[1:] for case in WRONG_MESSAGES],
    ids=[case[0] for case in WRONG_MESSAGES],
)
async def test_a_message_that_cannot_be_taken_is_422_and_says_where(
    body: Any, pointers: set[str], brain: RunningBrain, api: Api
) -> None:
    session_id = await api.create()
    answer = await api.http.post(f"/sessions/{session_id}/messages", json=body)
    document = assert_problem(answer, 422, brain)
    assert {error["pointer"] for error in document["errors"]} == pointers
    assert (await api.session(session_id))["last_seq"] == 1


@pytest.mark.requirement("API-01", "API-02")
@pytest.mark.parametrize(
    "query", ["after=-1", "after=x", "limit=0", "limit=1001", "until=later", "afterr=3"]
)
async def test_a_query_that_makes_no_sense_is_422(
    query: str, brain: RunningBrain, api: Api
) -> None:
    session_id = await api.create()
    answer = await api.http.get(f"/sessions/{session_id}/events?{query}")
    document = assert_problem(answer, 422, brain)
    assert document["errors"][0]["pointer"].endswith("/" + query.partition("=")[0])


@pytest.mark.requirement("API-01", "API-02")
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/sessions/", 404),
        ("GET", "/sessions/x/y/z", 404),
        ("GET", "/sessions/no-such-id", 404),
        ("GET", "/sessions/%2e%2e%2fcatalog", 404),
        ("PUT", "/sessions", 405),
        ("PATCH", "/sessions/ses_1", 405),
        ("POST", "/catalog", 405),
        ("DELETE", "/sessions", 405),
        ("GET", "/sessions/ses_1/interrupt", 405),
    ],
)
async def test_what_is_not_there_is_404_and_a_wrong_method_405(
    method: str, path: str, status: int, brain: RunningBrain, api: Api
) -> None:
    answer = await api.http.request(method, path)
    assert_problem(answer, status, brain)
    assert ("allow" in answer.headers) == (status == 405)


@pytest.mark.requirement("API-01", "API-02")
async def test_a_wrong_state_is_409(brain: RunningBrain, api: Api) -> None:
    session_id = await api.create()
    await api.http.post(f"/sessions/{session_id}/close")
    answer = await api.http.post(f"/sessions/{session_id}/messages", json={"content": "hi"})
    assert_problem(answer, 409, brain)


@pytest.mark.requirement("API-01")
async def test_while_the_engine_is_away_the_edge_says_so_and_tells_nothing(
    brain: RunningBrain, api: Api
) -> None:
    await brain.stop_engine()
    for path in ("/sessions", "/catalog", "/readyz"):
        assert_problem(await api.http.get(path), 503, brain)
    assert (await api.http.get("/healthz")).status_code == 200
    await brain.start_engine()
    await api.until_ready()
    assert (await api.http.get("/sessions")).json() == {"sessions": [], "next_cursor": None}
