"""Asking and answering, by HTTP."""

import asyncio
import hashlib
import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from brain_testing.inbox import Ask, InboxService

pytestmark = pytest.mark.requirement("LOCAL-02")
Operator = Callable[[str], httpx2.AsyncClient]
Json = dict[str, Any]


async def only_approval(http: httpx2.AsyncClient) -> Json:
    (found,) = (await http.get("/approvals")).json()["approvals"]
    return found


async def ended(http: httpx2.AsyncClient, status: str) -> Json:
    """The one request, once it has ended so."""
    async with asyncio.timeout(20):
        while (found := await only_approval(http))["status"] != status:
            pass
    return found


@pytest.mark.requirement("LOCAL-01")
@pytest.mark.parametrize(
    ("answer", "comment", "result"),
    [
        ("yes", None, {"content": [{"type": "text", "text": "Operator answered yes."}]}),
        (
            "no",
            " Not on a Friday. ",
            {
                "content": [
                    {"type": "text", "text": "Operator answered no.\nComment: Not on a Friday."}
                ],
                "is_error": True,
            },
        ),
    ],
)
async def test_the_agent_is_told_what_the_operator_answered(
    ask: Ask, operator: Operator, answer: str, comment: str | None, result: Json
) -> None:
    asked = await ask("Deploy")
    body = {"answer": answer, "comment": comment}
    decided = await operator("ada").post(f"/approvals/{asked.call_id}", json=body)

    assert decided.status_code == 200
    assert json.loads(await asked.result()) == result


async def test_a_request_shows_all_that_is_known_of_it(
    ask: Ask, operator: Operator, inbox: InboxService
) -> None:
    asked = await ask("Deploy", "Version 7", tenant="acme", session="ses_1", expires_in_seconds=90)
    written = b'{"action":"Deploy","details":"Version 7","expires_in_seconds":90}'
    pending = {
        "call_id": asked.call_id,
        "tenant_id": "acme",
        "session_id": "ses_1",
        "action": "Deploy",
        "details": "Version 7",
        "requested_at": "2026-01-01T00:00:00.000Z",
        "expires_at": "2026-01-01T00:01:30.000Z",
        "status": "pending",
        "decided_at": None,
        "decided_by": None,
        "comment": None,
        "arguments_sha256": hashlib.sha256(written).hexdigest(),
    }
    http = operator("bob")
    assert (await http.get("/approvals?status=pending")).json() == {"approvals": [pending]}
    await inbox.clock.advance(10)
    answer = await http.post(f"/approvals/{asked.call_id}", json={"answer": "yes", "comment": "ok"})
    done = {
        **pending,
        "status": "yes",
        "decided_at": "2026-01-01T00:00:10.000Z",
        "decided_by": "bob",
        "comment": "ok",
    }

    assert answer.json() == {"approval": done}
    assert await only_approval(http) == done
    assert (await http.get("/approvals?status=pending")).json() == {"approvals": []}


async def test_many_who_answer_at_once_get_one_decision(ask: Ask, operator: Operator) -> None:
    asked = await ask("Deploy")
    clients = [operator(name) for name in ("ada", "bob") * 10]
    answers = await asyncio.gather(
        *(
            http.post(f"/approvals/{asked.call_id}", json={"answer": ("yes", "no")[place % 2]})
            for place, http in enumerate(clients)
        )
    )

    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 19
    (won,) = (answer.json()["approval"] for answer in answers if answer.status_code == 200)
    for answer in answers:
        assert answer.json()["approval"] == won
        if answer.status_code == 409:
            assert answer.json()["detail"].startswith(
                f"{won['decided_by']} answered {won['status']}"
            )
    log = (await operator("ada").get("/approvals/log")).json()["entries"]
    assert [(entry["operator"], entry["answer"]) for entry in log] == [
        (won["decided_by"], won["status"])
    ]
    assert f"Operator answered {won['status']}." in await asked.result()


async def test_no_answer_in_time_is_a_no(ask: Ask, operator: Operator, inbox: InboxService) -> None:
    asked = await ask("Deploy", expires_in_seconds=60)
    await inbox.clock.advance(60)
    result = json.loads(await asked.result())

    assert result["is_error"] is True
    assert "unknown_outcome" not in result
    assert "counts as no" in result["content"][0]["text"]
    late = await operator("ada").post(f"/approvals/{asked.call_id}", json={"answer": "yes"})
    assert late.status_code == 409
    assert "expired at 2026-01-01T00:01:00.000Z" in late.json()["detail"]
    assert (await only_approval(operator("ada")))["status"] == "expired"


async def test_an_interrupt_withdraws_the_request(ask: Ask, operator: Operator) -> None:
    asked = await ask("Deploy")
    await asked.interrupt()
    found = await ended(operator("ada"), "withdrawn")

    assert found["decided_by"] is None
    late = await operator("ada").post(f"/approvals/{asked.call_id}", json={"answer": "yes"})
    assert late.status_code == 409
    assert "withdrawn" in late.json()["detail"]


async def test_a_restart_ends_who_waits_and_keeps_the_log(
    ask: Ask, operator: Operator, inbox: InboxService
) -> None:
    decided, waiting = await ask("First"), await ask("Second")
    ada = operator("ada")
    await ada.post(f"/approvals/{decided.call_id}", json={"answer": "yes"})
    before = (await ada.get("/approvals/log")).json()["entries"]
    await inbox.restart()

    assert json.loads(await waiting.result())["unknown_outcome"] is True
    after = (await ada.get("/approvals/log")).json()["entries"]
    assert after[: len(before)] == before
    assert [(entry["call_id"], entry["answer"]) for entry in after] == [
        (decided.call_id, "yes"),
        (waiting.call_id, "withdrawn"),
    ]
    assert (await ada.get("/approvals?status=pending")).json() == {"approvals": []}


async def test_a_call_that_asked_before_a_restart_does_not_ask_again(
    ask: Ask, operator: Operator, inbox: InboxService
) -> None:
    asked = await ask("Deploy")
    await operator("ada").post(f"/approvals/{asked.call_id}", json={"answer": "yes"})
    await asked.result()
    await inbox.restart()
    async with httpx2.AsyncClient(base_url=inbox.url, trust_env=False) as http:
        body = {"tenant_id": "local", "session_id": "ses", "call_id": asked.call_id}
        again = await http.post(
            "/tools/request_approval",
            json={**body, "arguments": {"action": "Delete all", "details": ""}},
            headers={"Authorization": "Bearer the-token-of-the-local-tools"},
        )

    assert again.json()["unknown_outcome"] is True
    assert (await only_approval(operator("ada")))["action"] == "Deploy"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[]", 422),
        (b"{}", 422),
        (b'{"answer":"maybe"}', 422),
        (b'{"answer":"yes","more":1}', 422),
        (json.dumps({"answer": "yes", "comment": "x" * 2001}).encode(), 422),
        (json.dumps({"answer": "yes", "comment": "x" * 20_000}).encode(), 413),
    ],
)
async def test_what_is_no_answer_is_refused_and_decides_nothing(
    ask: Ask, operator: Operator, body: bytes, status: int
) -> None:
    asked = await ask("Deploy")
    headers = {"Content-Type": "application/json"}
    path = f"/approvals/{asked.call_id}"
    answer = await operator("ada").post(path, content=body, headers=headers)

    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status
    assert (await only_approval(operator("ada")))["status"] == "pending"


@pytest.mark.parametrize("query", ["status=maybe", "limit=0", "limit=1001", "limit=x", "limit=-1"])
async def test_a_list_that_can_not_be_had_is_said(operator: Operator, query: str) -> None:
    answer = await operator("ada").get(f"/approvals?{query}")

    assert answer.status_code == 422
    assert query.split("=", maxsplit=1)[0] in answer.json()["detail"]


async def test_a_request_that_was_never_made_is_not_found(operator: Operator) -> None:
    answer = await operator("ada").post("/approvals/call_none", json={"answer": "yes"})

    assert answer.status_code == 404


async def test_the_stream_begins_with_all_and_goes_on_with_each_change(
    ask: Ask, operator: Operator
) -> None:
    first = await ask("First")
    ada = operator("ada")
    async with asyncio.timeout(20), ada.stream("GET", "/approvals/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = stream.aiter_lines()
        found = await next_event(lines, "inbox")
        assert found["operator"] == "ada"
        assert [each["call_id"] for each in found["approvals"]] == [first.call_id]
        second = await ask("Second")
        assert (await next_event(lines, "approval"))["approval"]["call_id"] == second.call_id
        await operator("bob").post(f"/approvals/{first.call_id}", json={"answer": "no"})
        change = (await next_event(lines, "approval"))["approval"]

    assert (change["call_id"], change["status"], change["decided_by"]) == (
        first.call_id,
        "no",
        "bob",
    )


async def next_event(lines: Any, name: str) -> Json:
    async for line in lines:
        if line == f"event: {name}":
            return json.loads((await anext(lines)).removeprefix("data: "))
    raise AssertionError(name)


async def test_the_log_comes_in_pages(ask: Ask, operator: Operator) -> None:
    ada = operator("ada")
    for number in range(3):
        asked = await ask(f"Step {number}")
        await ada.post(f"/approvals/{asked.call_id}", json={"answer": "yes"})
    first = (await ada.get("/approvals/log?limit=2")).json()
    rest = (await ada.get(f"/approvals/log?limit=2&after={first['next_after']}")).json()

    assert (len(first["entries"]), first["has_more"]) == (2, True)
    assert (len(rest["entries"]), rest["has_more"]) == (1, False)
    assert rest["entries"][0]["action"] == "Step 2"
