"""A whole tool turn with fakellm, a mock server of models that others wrote.

Brain runs as a process, its config is a file, and `brain chat` talks to it. What our own scripted
server takes for the wire formats plays no part.
"""

from collections.abc import AsyncGenerator
from pathlib import Path

import httpx2
import pytest

from brain_testing.commands import BIN, answers, finished, free_ports, running
from brain_testing.desk import Desk, DeskCall
from brain_testing.served import BRAIN, brain_with_config

pytestmark = pytest.mark.xdist_group("commands")

RULES = """\
rules:
  - name: answer
    when: { tool_result_contains: "it is raining" }
    respond: { content: "Take an umbrella, it rains in Oslo." }
  - name: ask
    when: { messages_contain: "weather", tools_include: weather }
    respond: { tool_calls: [{ name: weather, arguments: { city: "Oslo", days: [1, 2] } }] }
"""


@pytest.fixture
async def fakellm(tmp_path: Path) -> AsyncGenerator[str]:
    """The server at work; gives its URL."""
    (port,) = free_ports(1)
    rules = tmp_path / "fakellm.yaml"
    rules.write_text(RULES)
    command = (str(BIN / "fakellm"), "serve", "--port", str(port), "--config", str(rules))
    url = f"http://127.0.0.1:{port}"
    async with running(*command, folder=tmp_path):
        async with httpx2.AsyncClient(base_url=url, trust_env=False) as http:
            await answers(http, "/_fakellm/stats")
        yield url


@pytest.mark.parametrize(
    ("api", "path"), [("openai-chat", "/v1"), ("anthropic-messages", "")], ids=str
)
@pytest.mark.requirement("MODEL-01")
async def test_a_whole_tool_turn(
    api: str, path: str, fakellm: str, tmp_path: Path, desk: Desk
) -> None:
    async def serve(call: DeskCall) -> None:
        assert call.arguments == {"city": "Oslo", "days": [1, 2]}
        call.say("it is raining")

    models = [{"provider": "fake", "api": api, "base_url": fakellm + path}]
    document = {"models": models, "tools": [desk.binding("weather", serve)]}
    async with brain_with_config(tmp_path, document) as env:
        chat = f"echo 'How is the weather?' | {BRAIN} chat --model fake/some-model"
        code, said = await finished("sh", "-c", chat, folder=tmp_path, env=env)

    assert code == 0
    assert said.splitlines() == [
        '→ weather {"city": "Oslo", "days": [1, 2]}',
        "← weather: it is raining",
        "Take an umbrella, it rains in Oslo.",
    ]
