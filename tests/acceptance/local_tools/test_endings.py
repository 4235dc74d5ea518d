"""What Brain records when the approval service goes while an operator thinks."""

import json
import signal
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from brain_testing.api import Api
from brain_testing.commands import BIN, answers, clean_env, finished, free_ports, running
from brain_testing.plugin import StartBrain
from brain_testing.reading import only, said, text_of

pytestmark = [
    pytest.mark.requirement("LOCAL-01", "LOCAL-02", "SVC-02"),
    pytest.mark.xdist_group("commands"),
]
COMMAND = str(BIN / "brain-local-tools")
KEYS = {"BRAIN_TOOLS_KEY": "the-key-of-the-local-tools", "APPROVALS_KEYS": "ada=" + "a" * 20}
ADA = {"Authorization": "Bearer " + "a" * 20}


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_a_service_that_stops_leaves_an_unknown_outcome_and_no_open_request(
    how: signal.Signals,
    tmp_path: Path,
    start_brain: StartBrain,
    connect: Callable[..., Api],
) -> None:
    (port,) = free_ports(1)
    listen = ("--listen", f"127.0.0.1:{port}", "--data", "data")
    url, env = f"http://127.0.0.1:{port}", clean_env(**KEYS)
    _, printed = await finished(COMMAND, "bindings", "--url", url, folder=tmp_path)
    brain = await start_brain(tools=json.loads(printed), env=KEYS)
    api = connect(brain)
    session_id = await api.create("request_approval")
    async with httpx2.AsyncClient(base_url=url, headers=ADA, trust_env=False) as http:
        async with running(COMMAND, *listen, folder=tmp_path, env=env) as service:
            await answers(http)
            ask = '/call request_approval {"action":"Deploy","details":""}'
            sent = await api.send(session_id, ask)
            while not (await http.get("/approvals")).json()["approvals"]:
                pass
            await service.stop(how)
        result = only(await api.until_idle(session_id, after=sent["seq"]), "tool.result")
        async with running(COMMAND, *listen, folder=tmp_path, env=env):
            await answers(http)
            (entry,) = (await http.get("/approvals/log")).json()["entries"]
            (found,) = (await http.get("/approvals")).json()["approvals"]

    assert (result["is_error"], result["unknown_outcome"]) == (True, True)
    assert (entry["answer"], entry["operator"], found["status"]) == ("withdrawn", None, "withdrawn")


async def test_a_no_is_an_error_with_which_the_agent_goes_on(
    tmp_path: Path, start_brain: StartBrain, connect: Callable[..., Api]
) -> None:
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    _, printed = await finished(COMMAND, "bindings", "--url", url, folder=tmp_path)
    listen = ("--listen", f"127.0.0.1:{port}")
    async with (
        running(COMMAND, *listen, folder=tmp_path, env=clean_env(**KEYS)),
        httpx2.AsyncClient(base_url=url, headers=ADA, trust_env=False) as http,
    ):
        await answers(http)
        api = connect(await start_brain(tools=json.loads(printed), env=KEYS))
        session_id = await api.create("request_approval", "echo")
        ask = '/call request_approval {"action":"Deploy","details":"x"}\n/call echo {"text":"hi"}'
        sent = await api.send(session_id, ask)
        while not (found := (await http.get("/approvals")).json()["approvals"]):
            pass
        await http.post(f"/approvals/{found[0]['call_id']}", json={"answer": "no"})
        events = await api.until_idle(session_id, after=sent["seq"])

    (refused,) = (
        event["data"]
        for event in events
        if event["type"] == "tool.result" and event["data"]["name"] == "request_approval"
    )
    assert (refused["is_error"], refused["unknown_outcome"]) == (True, False)
    assert text_of(refused) == "Operator answered no."
    assert said(events) == "Operator answered no.\nhi"
