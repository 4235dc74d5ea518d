"""Who may call: keys, tenants, inspection tokens."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from brain_testing.api import Api
from brain_testing.scripted_brain import ScriptedBrain
from brainapi.session.v1 import session_service_pb2 as pb

Start = Callable[..., Awaitable[ScriptedBrain]]

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROUTES = [
    ("GET", "/catalog"),
    ("POST", "/sessions"),
    ("GET", "/sessions"),
    ("GET", "/sessions/s"),
    ("DELETE", "/sessions/s"),
    ("POST", "/sessions/s/interrupt"),
    ("POST", "/sessions/s/close"),
    ("POST", "/sessions/s/messages"),
    ("GET", "/sessions/s/messages"),
    ("DELETE", "/sessions/s/messages/m"),
    ("GET", "/sessions/s/events"),
    ("GET", "/no/such/route"),
    ("PATCH", "/sessions"),
]
BAD_HEADERS: list[dict[str, str] | list[tuple[str, str]]] = [
    {},
    {"Authorization": "Bearer wrong"},
    {"Authorization": "Bearer"},
    {"Authorization": "Basic key-of-local"},
    {"Authorization": "key-of-local"},
    {"Authorization": "Bearer key-of-local and more"},
    {"Authorization": "Bearer KEY-OF-LOCAL"},
    {"X-Api-Key": "key-of-local"},
    [("Authorization", "Bearer key-of-local"), ("Authorization", "Bearer key-of-other")],
]


@pytest.mark.requirement("AUTH-01")
@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_every_other_route_needs_a_key(brain: ScriptedBrain, method: str, path: str) -> None:
    async with Api(brain.url, None) as api:
        answer = await api.http.request(method, path)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["status"] == 401
    assert brain.engine.asked(pb.GetCatalogRequest) == 0


@pytest.mark.requirement("AUTH-01")
@pytest.mark.parametrize("headers", BAD_HEADERS)
async def test_what_is_not_exactly_one_good_key_is_refused(
    brain: ScriptedBrain, headers: Any
) -> None:
    async with Api(brain.url, None) as api:
        answer = await api.http.get("/catalog", headers=headers)
    assert answer.status_code == 401
    assert "key-of" not in answer.text


@pytest.mark.requirement("AUTH-01")
@pytest.mark.parametrize("path", ["/healthz", "/openapi.json", "/docs"])
async def test_public_routes_need_no_key(brain: ScriptedBrain, path: str) -> None:
    async with Api(brain.url, None) as api:
        assert (await api.http.get(path)).status_code == 200


async def test_the_scheme_may_be_written_in_any_case(brain: ScriptedBrain) -> None:
    async with Api(brain.url, None) as api:
        headers = {"Authorization": "bearer key-of-local"}
        assert (await api.http.get("/catalog", headers=headers)).status_code == 200


@pytest.mark.requirement("AUTH-02")
@pytest.mark.parametrize(("key", "tenant"), [("key-of-local", "local"), ("key-of-other", "other")])
async def test_the_key_decides_the_tenant(brain: ScriptedBrain, key: str, tenant: str) -> None:
    async with Api(brain.url, key) as api:
        await api.http.get("/sessions/s")
    asked = brain.engine.requests[-1]
    assert isinstance(asked, pb.GetSessionRequest)
    assert asked.tenant_id == tenant


@pytest.mark.requirement("AUTH-03")
async def test_a_tenant_may_have_several_keys_at_once(start_scripted: Start) -> None:
    brain = await start_scripted(api_keys={"local": ("old-key", "new-key")})
    for key in ("old-key", "new-key"):
        async with Api(brain.url, key) as api:
            assert (await api.http.get("/catalog")).status_code == 200


async def test_a_key_may_have_letters_beyond_ascii(start_scripted: Start) -> None:
    brain = await start_scripted(api_keys={"local": ("schlüssel",)})
    async with Api(brain.url, None) as api:
        headers = [(b"Authorization", "Bearer schlüssel".encode())]
        assert (await api.http.get("/catalog", headers=headers)).status_code == 200


async def test_without_any_key_nobody_gets_in(start_scripted: Start) -> None:
    brain = await start_scripted(api_keys={})
    async with Api(brain.url, "key-of-local") as api:
        assert (await api.http.get("/catalog")).status_code == 401


async def test_the_engine_is_sent_its_own_key(start_scripted: Start) -> None:
    brain = await start_scripted(engine_key="key-of-engine")
    async with Api(brain.url, "key-of-local") as api:
        await api.http.get("/catalog")
    assert brain.engine.metadata["GetCatalog"]["authorization"] == "Bearer key-of-engine"


@pytest.mark.requirement("INS-01")
@pytest.mark.parametrize(
    "path", ["/sessions/s", "/sessions/s/events", "/sessions/s/events?after=1"]
)
async def test_an_inspection_token_reads_its_session(brain: ScriptedBrain, path: str) -> None:
    brain.engine.add("s", 3)
    brain.engine.tokens["insp_good"] = ("other", "s")
    async with Api(brain.url, "insp_good") as api:
        answer = await api.http.get(path)
    assert answer.status_code == 200
    asked = brain.engine.requests[-1]
    assert isinstance(asked, pb.GetSessionRequest | pb.ListEventsRequest)
    assert asked.tenant_id == "other"


@pytest.mark.requirement("INS-01")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        *ROUTES[:3],
        *ROUTES[4:10],
        ("HEAD", "/sessions/s"),
        ("POST", "/sessions/s"),
        ("GET", "/sessions/another"),
        ("GET", "/sessions/another/events"),
        ("GET", "/sessions/s/events/"),
        ("GET", "/no/such/route"),
    ],
)
async def test_an_inspection_token_does_nothing_else(
    brain: ScriptedBrain, method: str, path: str
) -> None:
    brain.engine.add("s", 3)
    brain.engine.tokens["insp_good"] = ("local", "s")
    async with Api(brain.url, "insp_good") as api:
        answer = await api.http.request(method, path)
    assert answer.status_code == 403
    kinds = {type(request) for request in brain.engine.requests}
    assert kinds <= {pb.ResolveInspectionTokenRequest, pb.WatchEventsRequest}


@pytest.mark.requirement("INS-01")
async def test_an_inspection_token_is_401_once_its_call_has_returned(brain: ScriptedBrain) -> None:
    async with Api(brain.url, "insp_gone") as api:
        answer = await api.http.get("/sessions/s")
    assert answer.status_code == 401
    assert "insp_gone" not in answer.text


@pytest.mark.requirement("INS-01")
async def test_a_stream_ends_soon_after_its_token(start_scripted: Start) -> None:
    brain = await start_scripted(token_check_seconds=0.02)
    brain.engine.add("s", 1)
    brain.engine.tokens["insp_good"] = ("local", "s")
    async with (
        Api(brain.url, "insp_good") as api,
        api.follow("s") as frames,
    ):
        assert (await anext(frames)).event == "session.state"
        del brain.engine.tokens["insp_good"]
        assert [frame.id async for frame in frames] == ["1"]
