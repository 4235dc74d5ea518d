"""Inspection tokens: a tool service reads its one session until its call returns, no more."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from brain_testing.api import Api
from brain_testing.desk import Desk, DeskCall, within
from brain_testing.engine_process import engine_process
from brain_testing.plugin import StartBrain
from brain_testing.reading import of_type, read_until, types
from brain_testing.routes import ALL, Route
from brain_testing.running import RunningBrain

Connect = Callable[..., Api]
READABLE = {"read", "events", "stream"}


@pytest.fixture
async def brain(start_brain: StartBrain, desk: Desk) -> RunningBrain:
    """A Brain of two tenants with the tool `look`, whose calls may read their session."""
    binding = desk.binding("look", inspect_session=True, tenants=["local", "other"])
    return await start_brain(tools=[binding], tenants=("local", "other"))


@pytest.fixture
async def look(api: Api, desk: Desk) -> DeskCall:
    """A call that is under way."""
    await api.send(await api.create("look"), "/call look {}")
    return await desk.next_call()


@pytest.fixture
async def service(brain: RunningBrain, look: DeskCall) -> AsyncIterator[Api]:
    """Brain as the service sees it, with the token of its call."""
    async with Api(brain.url, token_of(look)) as api:
        yield api


def token_of(call: DeskCall) -> str:
    return call.body["inspection_token"]


def session_of(call: DeskCall) -> str:
    return call.body["session_id"]


async def status(api: Api, path: str) -> int:
    return (await api.http.get(path)).status_code


@pytest.mark.requirement("INS-01")
async def test_while_its_call_runs_a_service_reads_its_session(
    api: Api, service: Api, look: DeskCall
) -> None:
    session_id = session_of(look)
    assert await service.session(session_id) == await api.session(session_id)
    events = await service.events(session_id)
    assert events == await api.events(session_id)
    assert of_type(events, "tool.call")[0]["call_id"] == look.body["call_id"]
    async with service.follow(session_id) as frames:
        followed = await within(read_until(frames, "tool.call"))
    assert [frame.data for frame in followed if frame.id] == events


@pytest.mark.requirement("INS-01")
@pytest.mark.parametrize("how", ["result", "error", "interrupt", "close", "message", "hang up"])
async def test_once_the_call_has_returned_the_token_reads_nothing(
    how: str, api: Api, service: Api, look: DeskCall
) -> None:
    session_id = session_of(look)
    assert await status(service, f"/sessions/{session_id}") == 200
    if how == "result":
        look.say("done")
    elif how == "error":
        look.reply(b"", status=500)
    elif how == "hang up":
        look.hang_up()
    elif how == "message":
        await api.send(session_id, "stop", delivery="interrupt")
    else:
        assert (await api.http.post(f"/sessions/{session_id}/{how}")).status_code == 200
    await api.until_idle(session_id)
    for path in ("", "/events", "/events?after=1", "/messages"):
        assert await status(service, f"/sessions/{session_id}{path}") == 401


@pytest.mark.requirement("INS-01")
async def test_it_is_over_before_the_result_is_in_the_log(
    api: Api, service: Api, look: DeskCall
) -> None:
    async with api.follow(session_of(look)) as frames:
        look.say("done")
        await within(read_until(frames, "tool.result"))
        assert await status(service, f"/sessions/{session_of(look)}") == 401


@pytest.mark.requirement("INS-01")
@pytest.mark.parametrize("route", ALL, ids=lambda route: route.name)
async def test_it_opens_no_other_route_and_no_other_session(
    route: Route, api: Api, service: Api, look: DeskCall
) -> None:
    another = await api.create()
    before = await api.session(session_of(look)), await api.session(another)
    answer = await route.call(service.http, another)
    assert answer.status_code in {401, 403}
    if route.name not in READABLE:
        answer = await route.call(service.http, session_of(look))
        assert answer.status_code in {401, 403}
    assert (await api.session(session_of(look)), await api.session(another)) == before


@pytest.mark.requirement("INS-01")
@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("path", ["", "/events"])
async def test_it_is_good_for_no_other_method(
    method: str, path: str, service: Api, look: DeskCall
) -> None:
    answer = await service.http.request(method, f"/sessions/{session_of(look)}{path}")
    assert answer.status_code in {401, 403}


@pytest.mark.requirement("INS-01")
@pytest.mark.parametrize(
    "path", ["/", "//events", "/events/", "/events/1", "/../{other}", "%2f..%2f{other}/events"]
)
async def test_no_spelling_of_a_path_leads_elsewhere(
    path: str, api: Api, service: Api, look: DeskCall
) -> None:
    spelled = path.format(other=await api.create())
    answer = await service.http.get(f"/sessions/{session_of(look)}{spelled}")
    assert answer.status_code in {401, 403}


@pytest.mark.requirement("INS-01", "AUTH-02")
async def test_it_reads_nothing_of_another_tenant_and_of_another_call_of_its_own(
    brain: RunningBrain, connect: Connect, desk: Desk, service: Api
) -> None:
    others = connect(brain, "other")
    theirs = await others.create("look")
    await others.send(theirs, "/call look {}")
    their_call = await desk.next_call()
    assert await status(service, f"/sessions/{theirs}") == 403
    their_call.say("done")
    await others.until_idle(theirs)
    assert await status(service, f"/sessions/{theirs}/events") == 403


@pytest.mark.requirement("INS-01")
async def test_each_call_of_a_batch_keeps_its_token_until_it_returns(
    brain: RunningBrain, api: Api, desk: Desk
) -> None:
    session_id = await api.create("look")
    await api.send(session_id, "/call look {}\n/call look {}")
    first, second = await desk.next_call(), await desk.next_call()
    assert token_of(first) != token_of(second)
    async with api.follow(session_id) as frames:
        first.say("done")
        await within(read_until(frames, "tool.result"))
    async with Api(brain.url, token_of(first)) as ended, Api(brain.url, token_of(second)) as runs:
        assert await status(ended, f"/sessions/{session_id}") == 401
        assert await status(runs, f"/sessions/{session_id}") == 200


@pytest.mark.requirement("INS-01")
async def test_a_stream_that_was_opened_with_it_ends_after_the_call(
    api: Api, service: Api, look: DeskCall
) -> None:
    session_id = session_of(look)
    async with service.follow(session_id) as frames:
        await within(read_until(frames, "tool.call"))
        look.say("done")
        await api.until_idle(session_id)
        followed = await within(rest_of(frames))
    # The session goes on; what is said now, this reader no longer hears.
    await api.turn(session_id, "said in private")
    assert "said in private" not in "".join(followed)


async def rest_of(frames: AsyncIterator[object]) -> list[str]:
    return [str(frame) async for frame in frames]


@pytest.mark.requirement("INS-02")
async def test_it_does_not_survive_the_engine(brain: RunningBrain, api: Api, desk: Desk) -> None:
    async with engine_process(brain, api) as engine:
        session_id = await api.create("look")
        await api.send(session_id, "/call look {}")
        call = await desk.next_call()
        async with Api(brain.url, token_of(call)) as service:
            assert await status(service, f"/sessions/{session_id}") == 200
            await engine.kill()
            await brain.start_engine()
            await api.until_ready()
            assert await status(service, f"/sessions/{session_id}") == 401


@pytest.mark.requirement("INS-02")
async def test_no_two_are_alike_and_a_guess_is_worth_nothing(
    brain: RunningBrain, api: Api, desk: Desk
) -> None:
    session_id = await api.create("look")
    await api.send(session_id, "\n".join(["/call look {}"] * 50))
    tokens = [token_of(await desk.next_call()) for _ in range(50)]
    assert len({token[:20] for token in tokens}) == 50
    assert min(map(len, tokens)) >= len("insp_") + 43  # 256 bits in base64
    for guess in (tokens[0][:-1], tokens[0] + "A", tokens[0].swapcase(), "insp_", "insp_é"):
        header = [(b"Authorization", f"Bearer {guess}".encode())]
        answer = await api.http.get(f"/sessions/{session_id}", headers=header)
        assert answer.status_code == 401


@pytest.mark.requirement("INS-02")
async def test_it_is_written_down_nowhere(
    brain: RunningBrain, api: Api, desk: Desk, capfd: pytest.CaptureFixture[str]
) -> None:
    session_id = await api.create("look")
    answers: list[str] = []
    tokens: list[str] = []
    async with api.follow(session_id) as frames:
        for how in ("result", "status", "broken", "interrupt"):
            await api.send(session_id, "/call look {}")
            call = await desk.next_call()
            tokens.append(token_of(call))
            answers += await misuse(brain, call)
            await end(how, api, call)
        followed = await within(read_until(frames, "turn.interrupted"))
    seen = "".join([*answers, *(frame.text for frame in followed), *capfd.readouterr()])
    stored = b"".join(file.read_bytes() for file in files_below(brain.folder))
    assert session_id in seen
    assert session_id.encode() in stored
    for token in tokens:
        assert token not in seen
        assert token.encode() not in stored
        assert token.removeprefix("insp_") not in seen


async def misuse(brain: RunningBrain, call: DeskCall) -> list[str]:
    """Every kind of answer that a request with this token can get."""
    async with Api(brain.url, token_of(call)) as service:
        own = f"/sessions/{session_of(call)}"
        read = [await service.http.get(f"{own}{path}") for path in ("", "/events", "/nothing")]
        done = [await service.http.post(f"{own}/messages", json={"content": "x"})]
        return [answer.text for answer in (*read, *done)]


async def end(how: str, api: Api, call: DeskCall) -> None:
    if how == "result":
        call.say("done")
    elif how == "status":
        call.reply(b"", status=500)
    elif how == "broken":
        call.reply(b"not a result")
    else:
        await api.http.post(f"/sessions/{session_of(call)}/interrupt")
    assert "tool.result" in types(await api.until_idle(session_of(call)))


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
