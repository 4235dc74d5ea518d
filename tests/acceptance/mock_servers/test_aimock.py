"""A whole tool turn with aimock, a mock server of models that others wrote: `make test-mock-llm`.

It needs npm, so it isn't part of `make test`; see `conftest`.
"""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from brain_testing.commands import answers, finished, free_ports, running
from brain_testing.desk import Desk, DeskCall
from brain_testing.served import BRAIN, brain_with_config

pytestmark = pytest.mark.xdist_group("commands")

AIMOCK = Path(__file__).parents[3] / "tools/mock-llm/node_modules/.bin/llmock"
CALLS = [
    {"name": "weather", "arguments": '{"city":"Oslo"}'},
    {"name": "weather", "arguments": '{"city":"Rome"}'},
]
FIXTURES: list[dict[str, Any]] = [
    {
        "match": {"userMessage": "weather", "hasToolResult": False},
        "response": {"content": "I'll look.", "toolCalls": CALLS},
    },
    {
        "match": {"userMessage": "weather", "hasToolResult": True},
        "response": {"content": "Rain in Oslo, sun in Rome.", "reasoning": "Two towns."},
    },
    {
        "match": {"userMessage": "break"},
        "response": {
            "error": {"message": "Incorrect API key provided.", "type": "authentication_error"},
            "status": 401,
        },
    },
]


@pytest.fixture
async def aimock(tmp_path: Path) -> AsyncGenerator[str]:
    """The server at work; gives its URL."""
    (port,) = free_ports(1)
    fixtures = tmp_path / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": FIXTURES}))
    command = (str(AIMOCK), "--port", str(port), "--fixtures", str(fixtures), "--strict")
    url = f"http://127.0.0.1:{port}"
    async with running(*command, folder=tmp_path):
        async with httpx2.AsyncClient(base_url=url, trust_env=False) as http:
            await answers(http, "/health")
        yield url


@pytest.mark.parametrize(
    ("api", "path"),
    [("openai-chat", "/v1"), ("openai-responses", "/v1"), ("anthropic-messages", "")],
    ids=str,
)
@pytest.mark.requirement("MODEL-01")
async def test_a_turn_with_two_calls_at_once_and_a_refusal(
    api: str, path: str, aimock: str, tmp_path: Path, desk: Desk
) -> None:
    async def serve(call: DeskCall) -> None:
        call.say(f"{call.arguments['city']} has weather")

    models = [{"provider": "mock", "api": api, "base_url": aimock + path}]
    document = {"models": models, "tools": [desk.binding("weather", serve)]}
    async with brain_with_config(tmp_path, document) as env:
        chat = f"printf 'How is the weather?\\nNow break.\\n' | {BRAIN} chat --model mock/gpt-4o"
        code, said = await finished("sh", "-c", chat, folder=tmp_path, env=env)

    lines = said.splitlines()
    assert lines[:3] == ["I'll look.", '→ weather {"city": "Oslo"}', '→ weather {"city": "Rome"}']
    assert sorted(lines[3:5]) == ["← weather: Oslo has weather", "← weather: Rome has weather"]
    assert lines[5] == "Rain in Oslo, sun in Rome."
    assert "refused the API key" in lines[6]
    assert code == 1
