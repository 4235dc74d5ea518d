"""The synchronous client against a running Brain, and what both clients' README shows."""

import asyncio
import re
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from brain_client import Brain, BrainError, BrainUnavailable, TurnFailed, image, text, text_of
from brain_testing.api import Api
from brain_testing.desk import Desk, within
from brain_testing.running import RunningBrain

pytestmark = pytest.mark.requirement("SDK-01")

DEMO = {"harness": "pi", "config": {"model": "demo/script", "tools": ["ask"]}}
ROOT = Path(__file__).parents[2]
README = (ROOT / "libs/brain_client/README.md").read_text("utf-8")
TOOLS_PAGE_SNIPPET = """
tools = brain.catalog()["tools"]
session = brain.create({"harness": "pi", "config": {"model": "openai/gpt-4.1-mini", "tools": ["ask"]}})
"""  # noqa: E501 (as it stands there)


@pytest.fixture
def place(brain: RunningBrain, monkeypatch: pytest.MonkeyPatch) -> RunningBrain:
    """A Brain that the environment names."""
    monkeypatch.setenv("BRAIN_URL", brain.url)
    monkeypatch.setenv("BRAIN_API_KEY", brain.key)
    return brain


async def threaded(work: Callable[[], Any]) -> Any:
    """Run blocking code beside the Brain that it talks to."""
    return await within(asyncio.create_task(asyncio.to_thread(work)))


@pytest.mark.parametrize("snippet", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
async def test_what_the_readme_shows_runs(
    place: RunningBrain, snippet: str, capsys: pytest.CaptureFixture[str]
) -> None:
    await threaded(lambda: exec(compile(snippet, "README.md", "exec"), {"__name__": "__main__"}))
    assert capsys.readouterr().out.strip()


async def test_the_snippet_of_the_page_on_tools_runs_as_it_stands(place: RunningBrain) -> None:
    snippet = TOOLS_PAGE_SNIPPET.replace("openai/gpt-4.1-mini", "demo/script")

    def work() -> dict[str, Any]:
        with Brain() as brain:
            names: dict[str, Any] = {"brain": brain}
            exec(snippet, names)
            return names

    names = await threaded(work)
    assert [tool["name"] for tool in names["tools"]] == ["ask"]
    assert names["session"].data["config"]["tools"] == ["ask"]


async def test_a_turn_with_a_tool_from_its_message_to_its_end(
    place: RunningBrain, desk: Desk
) -> None:
    def work() -> tuple[list[str], list[Any]]:
        with Brain() as brain:
            session = brain.create(DEMO)
            events = list(session.run("/call ask {}"))
            return [event["type"] for event in events if "seq" in event], session.messages()

    turn = asyncio.create_task(threaded(work))
    (await desk.next_call()).say("yes")
    types, messages = await turn
    assert types == [
        "message.user",
        "turn.started",
        "message.assistant",
        "tool.call",
        "tool.result",
        "message.assistant",
        "turn.completed",
    ]
    assert [message["role"] for message in messages] == ["user", "assistant", "assistant"]
    assert text_of(messages[-1]) == "yes"


async def test_a_question_is_answered_and_a_failure_raised(
    place: RunningBrain, desk: Desk, api: Api
) -> None:
    def ask(content: Any) -> str:
        with Brain() as brain:
            return brain.create(DEMO).ask(content)

    assert await threaded(lambda: ask("hello")) == "You said: hello"
    picture = image(b"\x89PNG\r\n\x1a\n", "image/png")
    assert "hello" in await threaded(lambda: ask([text("hello"), picture]))

    asked = asyncio.create_task(threaded(lambda: ask("/call ask {}")))
    call = await desk.next_call()
    await api.http.post(f"/sessions/{call.body['session_id']}/interrupt")
    with pytest.raises(TurnFailed) as failed:
        await asked
    assert failed.value.code == "interrupted"


async def test_a_follower_outlives_the_edge_and_misses_and_repeats_nothing(
    place: RunningBrain, api: Api, desk: Desk
) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    call = await desk.next_call()
    joined = threading.Event()

    def work() -> list[Any]:
        with Brain() as brain, closing(brain.session(session_id).events(until="idle")) as events:
            seen: list[Any] = []
            for event in events:
                joined.set()
                seen += [event] if "seq" in event else []
            return seen

    following = asyncio.create_task(threaded(work))
    await asyncio.to_thread(joined.wait, 20)
    await place.restart_edge()
    call.say("done")
    assert await following == await api.events(session_id)


async def test_what_brain_refuses_is_an_error_with_its_problem(place: RunningBrain) -> None:
    def work() -> None:
        with Brain() as brain:
            brain.create({"harness": "pi", "config": {"model": "demo/script", "tools": ["nope"]}})

    with pytest.raises(BrainError, match="nope") as refused:
        await threaded(work)
    assert refused.value.problem["errors"][0]["pointer"] == "/config/tools/0"


def test_a_brain_that_is_not_there_is_said() -> None:
    with (
        Brain("http://127.0.0.1:1", "key") as brain,
        pytest.raises(BrainUnavailable, match="reached"),
    ):
        brain.catalog()


def test_an_image_without_a_known_type_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "picture.JPG"
    file.write_bytes(b"\xff\xd8")
    assert image(file)["mime_type"] == "image/jpeg"
    with pytest.raises(ValueError, match="mime_type"):
        image(b"...")
