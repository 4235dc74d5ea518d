"""`brain-local-tools approvals`, as an operator types it."""

import json
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx2
import pytest

from brain_testing.commands import BIN, clean_env, finished
from brain_testing.inbox import Ask, InboxService

pytestmark = [pytest.mark.requirement("LOCAL-02"), pytest.mark.xdist_group("commands")]
Type = Callable[..., Awaitable[tuple[int, str]]]
Operator = Callable[[str], httpx2.AsyncClient]


@pytest.fixture
def type_in(inbox: InboxService, tmp_path: Path) -> Type:
    """Runs the command with Ada's key, or another; gives its exit code and what it said."""

    async def run(*words: str, key: str = inbox.keys["ada"]) -> tuple[int, str]:
        command = (str(BIN / "brain-local-tools"), "approvals", "--url", inbox.url, *words)
        return await finished(*command, folder=tmp_path, env=clean_env(APPROVALS_KEY=key))

    return run


async def test_what_waits_is_listed_and_answered_with_the_operators_own_name(
    ask: Ask, type_in: Type, operator: Operator
) -> None:
    assert await type_in("list") == (0, "Nothing waits for an answer.\n")
    asked = await ask("Deploy", "Version 7\nto production", tenant="acme")
    code, listed = await type_in("list")
    assert code == 0
    for part in ("Deploy", "    Version 7\n    to production", "tenant acme", asked.call_id):
        assert part in listed
    code, said = await type_in("no", asked.call_id, "--comment", "Not on a Friday.")
    assert (code, said) == (0, "Answered no, as ada: Deploy\n")
    assert "Comment: Not on a Friday." in await asked.result()

    code, said = await type_in("yes", asked.call_id)
    assert code == 1
    assert said.startswith("brain-local-tools: ada answered no at ")
    _, everything = await type_in("list", "--all")
    assert "no by ada" in everything
    _, listed_as_json = await type_in("list", "--all", "--json")
    assert json.loads(listed_as_json) == (await operator("ada").get("/approvals")).json()
    _, log = await type_in("log")
    assert "no by ada: Deploy (Not on a Friday.)" in log
    _, log_as_json = await type_in("log", "--json")
    entries = (await operator("ada").get("/approvals/log")).json()["entries"]
    assert [json.loads(line) for line in log_as_json.splitlines()] == entries


async def test_what_an_agent_wrote_can_not_steer_the_terminal(ask: Ask, type_in: Type) -> None:
    hostile = "\x1b[2J\x1b]0;pwned\x07\r\u202eelif\u200b\x9b31m"
    asked = await ask(hostile, hostile + "\nline two", tenant=hostile, session=hostile)
    _, listed = await type_in("list")
    _, answered = await type_in("yes", asked.call_id)
    _, log = await type_in("log")

    for said in (listed, answered, log):
        assert "\\x1b[2J" in said
        assert "\\u202eelif" in said
        assert all(character.isprintable() or character == "\n" for character in said)


@pytest.mark.parametrize(
    ("words", "key", "says"),
    [
        (("list",), "not a key of anyone", "No operator has this key."),
        (("list",), "schlüssel-über-alles", "ASCII"),
        (("list",), "", "set APPROVALS_KEY to your operator's key"),
        (("yes", "call_none"), None, "There is no such request."),
        (("yes", "../sign-in"), None, "There is no such request."),
        (("--url", "http://127.0.0.1:1", "list"), None, "can't be reached"),
        (("--url", "nonsense", "list"), None, "can't be"),
    ],
)
async def test_what_can_not_be_done_is_one_clear_line(
    type_in: Type, inbox: InboxService, words: tuple[str, ...], key: str | None, says: str
) -> None:
    code, said = await type_in(*words, key=inbox.keys["ada"] if key is None else key)

    assert code == 1
    assert len(said.splitlines()) == 1
    assert says in said
    assert inbox.keys["ada"] not in said


async def test_a_store_that_fails_is_said_and_counts_as_no(
    ask: Ask, type_in: Type, inbox: InboxService, operator: Operator
) -> None:
    asked = await ask("Deploy", expires_in_seconds=60)
    with sqlite3.connect(inbox.data / "approvals.db") as connection:
        connection.execute("DROP TABLE approvals")
    connection.close()
    answer = await operator("ada").post(f"/approvals/{asked.call_id}", json={"answer": "yes"})
    code, said = await type_in("list")
    await inbox.clock.advance(60)
    result = json.loads(await asked.result())

    assert answer.status_code == 503
    assert answer.json()["detail"] in said
    assert code == 1
    assert "no such table" not in said + answer.text
    assert result["is_error"] is True
    assert "counts as no" in result["content"][0]["text"]
