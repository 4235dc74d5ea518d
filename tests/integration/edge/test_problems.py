"""Every error answer is a problem document, and tells nothing that it shouldn't."""

from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest

from brain_testing.api import Api
from brain_testing.scripted_brain import ScriptedBrain
from brainapi.session.v1 import session_service_pb2 as pb
from brainapi.session.v1.session_pb2 import ErrorDetail, Session, Violation

pytestmark = pytest.mark.asyncio(loop_scope="module")

Start = Callable[..., Awaitable[ScriptedBrain]]
INTERNALS = ["Traceback", "grpc", "/work", "unix:", "Said by the engine", ".py"]


def _check(answer: Any, status: int) -> dict[str, Any]:
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == status
    assert body.keys() >= {"type", "title", "detail"}
    return body


@pytest.mark.requirement("API-01", "API-02")
async def test_an_unknown_route_is_404(api: Api) -> None:
    _check(await api.http.get("/nothing"), 404)
    _check(await api.http.get("/sessions/"), 404)


@pytest.mark.requirement("API-01")
@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/sessions", "GET, POST"),
        ("/sessions/s", "DELETE, GET"),
        ("/sessions/s/close", "POST"),
        ("/healthz", "GET"),
    ],
)
async def test_a_wrong_method_is_405_and_names_the_right_ones(
    api: Api, path: str, allowed: str
) -> None:
    answer = await api.http.patch(path)
    _check(answer, 405)
    assert answer.headers["allow"] == allowed


@pytest.mark.requirement("API-01", "API-02")
@pytest.mark.parametrize(
    ("code", "status"),
    [
        (grpc.StatusCode.NOT_FOUND, 404),
        (grpc.StatusCode.FAILED_PRECONDITION, 409),
        (grpc.StatusCode.INVALID_ARGUMENT, 422),
        (grpc.StatusCode.UNAVAILABLE, 503),
        (grpc.StatusCode.DEADLINE_EXCEEDED, 503),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, 429),
        (grpc.StatusCode.INTERNAL, 500),
        (grpc.StatusCode.UNKNOWN, 500),
        (grpc.StatusCode.UNAUTHENTICATED, 500),
        (grpc.StatusCode.PERMISSION_DENIED, 500),
        (grpc.StatusCode.UNIMPLEMENTED, 500),
    ],
)
async def test_each_answer_of_the_engine_has_its_status(
    brain: ScriptedBrain, api: Api, code: grpc.StatusCode, status: int
) -> None:
    brain.engine.answers["GetSession"] = code
    answer = await api.http.get("/sessions/s")
    _check(answer, status)
    assert ("retry-after" in answer.headers) == (status in {429, 503})


@pytest.mark.requirement("API-01")
@pytest.mark.parametrize(
    "code",
    [
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        grpc.StatusCode.INTERNAL,
    ],
)
async def test_what_the_engine_says_for_operators_stays_inside(
    brain: ScriptedBrain, api: Api, code: grpc.StatusCode
) -> None:
    brain.engine.answers["GetSession"] = code
    answer = await api.http.get("/sessions/s")
    assert not [word for word in INTERNALS if word in answer.text]


@pytest.mark.requirement("API-01")
async def test_a_bug_in_the_edge_is_a_bare_500(brain: ScriptedBrain, api: Api) -> None:
    session = Session(id="s")  # its status is none that the edge knows
    brain.engine.answers["GetSession"] = pb.GetSessionResponse(session=session)
    answer = await api.http.get("/sessions/s")
    assert _check(answer, 500)["detail"] == "Something went wrong on the server."
    assert not [word for word in INTERNALS if word in answer.text]


@pytest.mark.requirement("API-01", "SES-02")
async def test_what_the_engine_finds_wrong_is_named_by_pointer(
    brain: ScriptedBrain, api: Api
) -> None:
    wrong = Violation(pointer="/config/tools/0", detail="There is no tool 'x'.")
    detail = ErrorDetail(code="invalid_session", violations=[wrong])
    brain.engine.answers["CreateSession"] = grpc.StatusCode.INVALID_ARGUMENT
    brain.engine.trailers = (("brain-error-bin", detail.SerializeToString()),)
    body = {"harness": "pi", "config": {"model": "m", "tools": ["x"]}}
    answer = await api.http.post("/sessions", json=body)
    assert _check(answer, 422)["errors"] == [
        {"pointer": "/config/tools/0", "detail": "There is no tool 'x'."}
    ]


@pytest.mark.requirement("API-01")
@pytest.mark.parametrize(
    ("code", "slug"),
    [
        ("session_closed", "/problems/session-closed"),
        ("turn_running", "/problems/turn-running"),
        ("some_new_code", "about:blank"),
    ],
)
async def test_conflicts_can_be_told_apart_by_type(
    brain: ScriptedBrain, api: Api, code: str, slug: str
) -> None:
    brain.engine.answers["SendMessage"] = grpc.StatusCode.FAILED_PRECONDITION
    detail = ErrorDetail(code=code).SerializeToString()
    brain.engine.trailers = (("brain-error-bin", detail),)
    answer = await api.http.post("/sessions/s/messages", json={"content": "hi"})
    assert _check(answer, 409)["type"] == slug


@pytest.mark.requirement("API-01")
async def test_while_the_engine_is_away_everything_is_503_and_then_works_again(
    start_scripted: Start,
) -> None:
    brain = await start_scripted()
    api = Api(brain.url, "key-of-local")
    await brain.stop_engine()
    for accept in ("application/json", "text/event-stream"):
        answer = await api.http.get("/sessions/s/events", headers={"Accept": accept})
        assert _check(answer, 503)["type"] == "/problems/engine-unavailable"
        assert answer.headers["retry-after"] == "1"
    _check(await api.http.get("/readyz"), 503)
    assert (await api.http.get("/healthz")).status_code == 200
    await brain.start_engine()
    await brain.reachable(api)
    brain.engine.add("s")
    assert (await api.http.get("/sessions/s/events")).status_code == 200
    await api.http.aclose()


async def test_every_answer_carries_the_security_headers(api: Api) -> None:
    for path in ("/healthz", "/nothing", "/sessions/s", "/docs"):
        headers = (await api.http.get(path)).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "default-src 'none'" in headers["content-security-policy"]


async def test_the_docs_page_loads_nothing_from_elsewhere(api: Api) -> None:
    page = (await api.http.get("/docs")).text
    assert "/sessions/{session_id}/events" in page
    assert "<script" not in page
    assert "//" not in page.replace("<!--", "")
