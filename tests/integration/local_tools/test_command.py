"""`brain-local-tools`, as an operator runs it."""

import json
import signal
from pathlib import Path

import httpx2
import pytest

from brain_testing.commands import BIN, answers, clean_env, finished, free_ports, running

pytestmark = [pytest.mark.requirement("SVC-01"), pytest.mark.xdist_group("commands")]
COMMAND = str(BIN / "brain-local-tools")

ECHO = {
    "name": "echo",
    "description": "Echo text through an external tool service.",
    "input_schema": {
        "type": "object",
        "properties": {"text": {"type": "string", "maxLength": 4096}},
        "required": ["text"],
        "additionalProperties": False,
    },
    "url": "http://127.0.0.1:8081/tools/echo",
    "token_env": "BRAIN_TOOLS_KEY",
    "tenants": ["local"],
    "timeout_seconds": 300,
    "max_output_bytes": 1048576,
}


async def test_it_prints_exactly_the_documented_binding(tmp_path: Path) -> None:
    code, said = await finished(
        COMMAND, "bindings", "--url", "http://127.0.0.1:8081", folder=tmp_path
    )

    assert code == 0
    echo, *_ = json.loads(said)
    assert json.dumps(echo) == json.dumps(ECHO), "in the same order, too"


async def test_bindings_are_for_the_tenants_that_are_named(tmp_path: Path) -> None:
    asked = ("--url", "http://h/base/", "--tenant", "a", "--tenant", "b")
    _, said = await finished(COMMAND, "bindings", *asked, folder=tmp_path)

    assert json.loads(said)[0]["tenants"] == ["a", "b"]
    assert json.loads(said)[0]["url"] == "http://h/base/tools/echo"


async def test_it_serves_and_stops_at_once_on_sigterm(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    env = clean_env(BRAIN_TOOLS_KEY="secret-of-the-test")
    listen = ("--listen", f"127.0.0.1:{port}")
    async with running(COMMAND, *listen, folder=tmp_path, env=env) as service:
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http:
            await answers(http)
            body = {"tenant_id": "local", "session_id": "s", "call_id": "c"}
            answer = await http.post(
                "/tools/echo",
                json={**body, "arguments": {"text": "hello"}},
                headers={"Authorization": "Bearer secret-of-the-test"},
            )
            assert answer.json() == {"content": [{"type": "text", "text": "hello"}]}
        assert await service.stop(signal.SIGTERM) == 0
        assert "secret-of-the-test" not in service.said
        assert '"call_id": "c"' in service.said


async def test_it_does_not_start_without_its_token(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    for listen in ("127.0.0.1", "0.0.0.0"):
        where = ("--listen", f"{listen}:{port}")
        code, said = await finished(COMMAND, *where, folder=tmp_path)
        assert code == 1
        assert len(said.splitlines()) == 1
        assert "BRAIN_TOOLS_KEY" in said
    everywhere = ("--listen", f"0.0.0.0:{port}", "--insecure-no-token")
    code, _ = await finished(COMMAND, *everywhere, folder=tmp_path)
    assert code == 1


async def test_a_port_in_use_is_one_clear_line(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    listen = ("--listen", f"127.0.0.1:{port}", "--insecure-no-token")
    async with running(COMMAND, *listen, folder=tmp_path):
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http:
            await answers(http)
        code, said = await finished(COMMAND, *listen, folder=tmp_path)

    assert code == 1
    assert len(said.splitlines()) == 1
    assert str(port) in said
