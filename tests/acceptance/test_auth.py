"""The key opens the door; without it every route says the same."""

from collections.abc import AsyncIterator, Callable

import httpx2
import pytest

from brain_testing.api import Api
from brain_testing.plugin import StartBrain
from brain_testing.routes import ALL, Route
from brain_testing.running import RunningBrain

EVERY_ROUTE = pytest.mark.parametrize("route", ALL, ids=lambda route: route.name)
PUBLIC = ("/healthz", "/readyz", "/openapi.json", "/docs")


@pytest.fixture
async def nobody(brain: RunningBrain) -> AsyncIterator[httpx2.AsyncClient]:
    """A client without a key."""
    async with Api(brain.url, None) as api:
        yield api.http


def assert_refused(answer: httpx2.Response) -> None:
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == 401


@pytest.mark.requirement("AUTH-01")
@EVERY_ROUTE
async def test_a_request_without_a_key_is_refused(
    route: Route, api: Api, nobody: httpx2.AsyncClient
) -> None:
    session_id = await api.create()
    assert_refused(await route.call(nobody, session_id))
    assert (await api.session(session_id))["last_seq"] == 1


@pytest.mark.requirement("AUTH-01")
@EVERY_ROUTE
async def test_a_request_with_a_wrong_key_is_refused(
    route: Route, api: Api, nobody: httpx2.AsyncClient
) -> None:
    session_id = await api.create()
    wrong = {"Authorization": "Bearer nobody-gave-me-this-key"}
    assert_refused(await route.call(nobody, session_id, headers=wrong))
    assert (await api.session(session_id))["last_seq"] == 1


@pytest.mark.requirement("AUTH-01")
@pytest.mark.parametrize(
    "form",
    ["{key}", "Basic {key}", "Bearer", "Bearer {key}x", "Bearer {start}", "Bearer a b"],
)
async def test_only_the_whole_key_as_a_bearer_token_is_taken(
    form: str, brain: RunningBrain, nobody: httpx2.AsyncClient
) -> None:
    header = form.format(key=brain.key, start=brain.key[:-1])
    assert_refused(await nobody.get("/catalog", headers={"Authorization": header}))


@pytest.mark.requirement("AUTH-01")
@pytest.mark.parametrize("path", ["/", "/nothing", "/metrics", "/usage", "/healthz/", "/docs/x"])
async def test_without_a_key_nobody_learns_what_is_there(
    path: str, nobody: httpx2.AsyncClient
) -> None:
    assert_refused(await nobody.get(path))


@pytest.mark.requirement("AUTH-01")
async def test_a_key_in_the_query_is_not_taken(
    brain: RunningBrain, nobody: httpx2.AsyncClient
) -> None:
    assert_refused(await nobody.get(f"/catalog?api_key={brain.key}&access_token={brain.key}"))


@pytest.mark.requirement("AUTH-01")
@pytest.mark.parametrize("path", PUBLIC)
async def test_health_and_documentation_need_no_key(path: str, nobody: httpx2.AsyncClient) -> None:
    assert (await nobody.get(path)).status_code == 200


@pytest.mark.requirement("AUTH-01")
async def test_a_key_is_never_logged(
    brain: RunningBrain,
    api: Api,
    nobody: httpx2.AsyncClient,
    capfd: pytest.CaptureFixture[str],
) -> None:
    wrong = "a-wrong-key-is-a-secret-too"
    await nobody.get("/catalog", headers={"Authorization": f"Bearer {wrong}"})
    await api.turn(await api.create(), "hi")
    await api.http.post("/sessions", content=b"{", headers={"Content-Type": "application/json"})
    logged = "".join(capfd.readouterr())
    assert wrong not in logged
    assert brain.key not in logged


@pytest.mark.requirement("AUTH-03")
async def test_every_key_of_a_tenant_opens_the_same_sessions(start_brain: StartBrain) -> None:
    tenants = [{"id": "local", "api_keys_env": ["OLD_KEY", "NEW_KEY"]}]
    env = {"OLD_KEY": "the-old-key-of-local", "NEW_KEY": "the-new-key-of-local"}
    brain = await start_brain(extra={"tenants": tenants}, env=env)
    async with Api(brain.url, env["OLD_KEY"]) as old, Api(brain.url, env["NEW_KEY"]) as new:
        session_id = await old.create()
        assert (await new.session(session_id))["tenant_id"] == "local"
        await new.turn(session_id, "hi")
        assert len(await old.events(session_id)) == (await new.session(session_id))["last_seq"]


@pytest.mark.requirement("AUTH-03")
async def test_a_key_that_was_taken_out_of_the_config_opens_nothing_any_more(
    start_brain: StartBrain, connect: Callable[..., Api]
) -> None:
    brain = await start_brain()
    api = connect(brain)
    session_id = await api.create()
    await brain.stop_edge()
    old_key, brain.keys["local"] = brain.key, "another-key-for-the-tenant"
    await brain.start_edge()
    async with Api(brain.url, old_key) as old, Api(brain.url, brain.key) as new:
        assert_refused(await old.http.get("/sessions"))
        assert (await new.session(session_id))["id"] == session_id
