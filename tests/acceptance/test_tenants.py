"""Two tenants on one server see nothing of each other, on any route."""

from collections.abc import Callable
from typing import NamedTuple

import httpx2
import pytest

from brain_testing.api import Api
from brain_testing.desk import Desk
from brain_testing.plugin import StartBrain
from brain_testing.routes import OF_A_SESSION, Route

pytestmark = pytest.mark.requirement("AUTH-02")

MISSING = "ses_00000000000000000000000000"


class TwoTenants(NamedTuple):
    ann: Api
    bob: Api


@pytest.fixture
async def two(start_brain: StartBrain, connect: Callable[..., Api], desk: Desk) -> TwoTenants:
    """A tool of each one's own, and one that both may use."""
    brain = await start_brain(
        tenants=("ann", "bob"),
        tools=[
            desk.binding("anns", tenants=["ann"]),
            desk.binding("bobs", tenants=["bob"]),
            desk.binding("shared", tenants=["ann", "bob"]),
        ],
    )
    return TwoTenants(connect(brain, "ann"), connect(brain, "bob"))


def what_a_client_sees(answer: httpx2.Response) -> tuple[int, str, bytes]:
    return answer.status_code, answer.headers["content-type"], answer.content


@pytest.mark.requirement("API-02")
@pytest.mark.parametrize("route", OF_A_SESSION, ids=lambda route: route.name)
async def test_a_foreign_session_looks_like_one_that_does_not_exist(
    route: Route, two: TwoTenants, desk: Desk
) -> None:
    session_id = await two.ann.create("anns")
    await two.ann.send(session_id, "/call anns {}")
    call = await desk.next_call()
    waiting = await two.ann.send(session_id, "later")
    before = await two.ann.events(session_id)

    foreign = await route.call(two.bob.http, session_id, waiting["message_id"])
    missing = await route.call(two.bob.http, MISSING, waiting["message_id"])

    assert what_a_client_sees(foreign) == what_a_client_sees(missing)
    assert foreign.status_code == 404
    assert session_id not in foreign.text
    assert await two.ann.events(session_id) == before
    assert not call.gone.is_set()


async def test_a_list_holds_only_the_callers_own_sessions(two: TwoTenants) -> None:
    anns = await two.ann.create()
    bobs = await two.bob.create()
    for api, own in ((two.ann, anns), (two.bob, bobs)):
        listed = (await api.http.get("/sessions")).json()["sessions"]
        assert [session["id"] for session in listed] == [own]


async def test_another_tenants_session_id_as_cursor_shows_nothing_of_it(two: TwoTenants) -> None:
    bobs = await two.bob.create()
    anns = await two.ann.create()
    page = (await two.bob.http.get("/sessions", params={"cursor": anns})).json()
    assert [session["id"] for session in page["sessions"]] == [bobs]


@pytest.mark.requirement("SES-01")
async def test_the_catalog_shows_only_the_callers_tools(two: TwoTenants) -> None:
    for api, own in ((two.ann, "anns"), (two.bob, "bobs")):
        tools = (await api.http.get("/catalog")).json()["tools"]
        assert [tool["name"] for tool in tools] == [own, "shared"]


async def test_what_a_tool_is_told_of_the_tenant_comes_from_the_key(
    two: TwoTenants, desk: Desk
) -> None:
    for api, tenant in ((two.ann, "ann"), (two.bob, "bob")):
        session_id = await api.create("shared")
        await api.send(session_id, '/call shared {"tenant_id":"root"}')
        call = await desk.next_call()
        assert call.body["tenant_id"] == tenant
        assert call.body["session_id"] == session_id
        call.say("done")
        await api.until_idle(session_id)
