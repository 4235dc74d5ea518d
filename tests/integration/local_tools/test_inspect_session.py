"""`inspect_session`: the service reads the session that its call belongs to."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import jsonschema_rs
import pytest

from brain_testing.api import Api
from brain_testing.commands import (
    BIN,
    answers,
    brain_up,
    clean_env,
    finished,
    free_ports,
    running,
)
from brain_testing.plugin import StartBrain
from brain_testing.reading import only, text_of

pytestmark = [pytest.mark.requirement("LOCAL-01"), pytest.mark.xdist_group("commands")]
COMMAND = str(BIN / "brain-local-tools")
KEY = "the-key-of-the-local-tools"
Json = dict[str, Any]


@pytest.fixture
async def tools(tmp_path: Path) -> AsyncIterator[str]:
    """The service's URL."""
    async with serving(tmp_path) as url:
        yield url


@asynccontextmanager
async def serving(folder: Path) -> AsyncGenerator[str]:
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    env = clean_env(BRAIN_TOOLS_KEY=KEY)
    async with running(COMMAND, "--listen", f"127.0.0.1:{port}", folder=folder, env=env):
        async with httpx2.AsyncClient(base_url=url, trust_env=False) as http:
            await answers(http)
        yield url


async def bindings(folder: Path, url: str = "http://127.0.0.1:8081") -> list[Json]:
    _, printed = await finished(COMMAND, "bindings", "--url", url, folder=folder)
    return json.loads(printed)


async def call(url: str, **more: Any) -> Json:
    """Call the tool as Brain would."""
    body: Json = {"tenant_id": "local", "session_id": "ses_1", "call_id": "call_1", "arguments": {}}
    headers = {"Authorization": f"Bearer {KEY}"}
    async with httpx2.AsyncClient(base_url=url, headers=headers, trust_env=False) as http:
        answer = await http.post("/tools/inspect_session", json={**body, **more})
        assert answer.status_code == 200
        return answer.json()


async def test_its_binding_asks_for_the_token(tmp_path: Path) -> None:
    found = {binding["name"]: binding for binding in await bindings(tmp_path)}
    assert found["inspect_session"]["inspect_session"] is True
    assert found["inspect_session"]["output_schema"]["type"] == "object"


async def test_it_reports_the_events_of_its_own_session(
    tools: str, tmp_path: Path, start_brain: StartBrain, connect: Callable[..., Api]
) -> None:
    setup = {"tools": await bindings(tmp_path, tools), "env": {"BRAIN_TOOLS_KEY": KEY}}
    brain = await start_brain(**setup)
    await brain.stop_engine()
    await brain.start_engine()  # now that it knows its own address
    api = connect(brain)
    await api.until_ready()
    session_id = await api.create("echo", "inspect_session")
    await api.turn(session_id, '/call echo {"text":"hi"}')
    events = await api.turn(session_id, '/call inspect_session {"last":2}')

    result = only(events, "tool.result")

    assert result["is_error"] is False, text_of(result)
    report = result["structured_content"]
    assert report["session_id"] == session_id
    assert report["status"] == "running"
    assert report["by_type"]["tool.call"] == 2
    assert report["by_type"]["tool.result"] == 1
    assert report["events"] == sum(report["by_type"].values()) == report["last"][-1]["seq"]
    assert [event["type"] for event in report["last"]] == ["message.assistant", "tool.call"]
    assert "2 tool.call" in text_of(result)


async def test_brain_up_offers_it_and_writes_its_token_nowhere(tmp_path: Path) -> None:
    async with brain_up(tmp_path) as (up, port):
        key = (tmp_path / ".brain/api_key").read_text().strip()
        async with Api(f"http://127.0.0.1:{port}", key) as api:
            session_id = await api.create("inspect_session")
            result = only(await api.turn(session_id, "/call inspect_session {}"), "tool.result")
        assert result["is_error"] is False, text_of(result)
        assert result["structured_content"]["session_id"] == session_id
        await up.stop()
        stored = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
        assert b"insp_" not in stored
        assert "insp_" not in up.said


async def test_without_a_token_it_says_what_its_binding_lacks(tools: str) -> None:
    result = await call(tools)
    assert result["is_error"] is True
    assert '"inspect_session": true' in text_of(result)


async def test_a_token_that_is_no_longer_good_is_an_error_that_does_not_repeat_it(
    tools: str, start_brain: StartBrain
) -> None:
    brain = await start_brain()
    result = await call(tools, inspection_token="insp_from_yesterday", brain_url=brain.url)
    assert result["is_error"] is True
    assert "could not be read" in text_of(result)
    assert "insp_" not in json.dumps(result)


async def test_a_brain_that_can_not_be_reached_is_an_error(
    tools: str, unused_tcp_port: int
) -> None:
    nowhere = f"http://127.0.0.1:{unused_tcp_port}"
    result = await call(tools, inspection_token="insp_x", brain_url=nowhere)
    assert result["is_error"] is True
    assert "can't be reached" in text_of(result)


@pytest.mark.parametrize("last", [0, 101, "2", 1.5])
async def test_how_many_events_it_shows_is_bounded(last: object, tmp_path: Path) -> None:
    found = {binding["name"]: binding for binding in await bindings(tmp_path)}
    schema = found["inspect_session"]["input_schema"]
    assert jsonschema_rs.is_valid(schema, {"last": 100})
    assert not jsonschema_rs.is_valid(schema, {"last": last})
