"""The library's README, run as it stands."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from brain_testing.api import Api
from brain_testing.commands import BIN, answers, clean_env, finished, free_ports, running
from brain_testing.plugin import StartBrain
from brain_testing.reading import only, read_until, text_of
from tool_service import ToolService

pytestmark = pytest.mark.xdist_group("commands")
README = Path(__file__).parents[3] / "libs/tool_service/README.md"
PYTHON = str(BIN / "python")
KEY = "secret-of-the-shop"


def snippets() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def at(document: str, port: int) -> list[dict[str, Any]]:
    return json.loads(document.replace(":8090", f":{port}"))["tools"]


async def test_a_whole_service_is_fifteen_lines_that_brain_can_call(
    tmp_path: Path, start_brain: StartBrain, connect: Callable[..., Api]
) -> None:
    code = snippets()[0]
    assert len([line for line in code.splitlines() if line]) <= 15
    (tmp_path / "shop.py").write_text(code)
    (port,) = free_ports(1)
    _, printed = await finished(PYTHON, "shop.py", "host-config", folder=tmp_path)
    listen = ("--listen", f"127.0.0.1:{port}")
    async with running(PYTHON, "shop.py", *listen, folder=tmp_path, env=clean_env(SHOP_KEY=KEY)):
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http:
            await answers(http)
        brain = await start_brain(tools=at(printed, port), env={"SHOP_KEY": KEY})
        api = connect(brain)
        session_id = await api.create("refund")
        async with api.follow(session_id) as frames:
            await read_until(frames, "session.created")
            await api.send(session_id, '/call refund {"order_id":"o-1","cents":500}')
            seen = [frame.data for frame in await read_until(frames, "turn.completed")]
        events = await api.turn(session_id, '/call refund {"order_id":"o-1","cents":0}')

    assert only(seen, "tool.progress")["progress"] == {"status": "asking the bank"}
    assert text_of(only(seen, "tool.result")) == "Refunded 500 cents of o-1 for local."
    refused = only(events, "tool.result")
    assert (refused["is_error"], refused["unknown_outcome"]) == (True, False)
    assert text_of(refused) == "There is nothing to refund."


async def test_a_resource_is_given_to_the_tool_that_asks_for_it(tmp_path: Path) -> None:
    prelude = """
from collections.abc import AsyncGenerator
from pathlib import Path
from tool_service import Call, ToolService

class Database:
    def __init__(self, path): self.path = path
    async def __aenter__(self): return self
    async def __aexit__(self, *error): pass
    async def count(self, tenant_id): return len(tenant_id)

service = ToolService("shop", token_env="SHOP_KEY", port=8090)
"""
    names: dict[str, Any] = {}
    exec(prelude + snippets()[1], names)
    service: ToolService = names["service"]
    body: dict[str, Any] = {"tenant_id": "acme", "session_id": "s", "call_id": "c", "arguments": {}}
    async with (
        service.running(None, data=tmp_path) as url,
        httpx2.AsyncClient(trust_env=False) as http,
    ):
        answer = await http.post(f"{url}/tools/count_orders", json=body)

    assert answer.json() == {"structured_content": 4}
