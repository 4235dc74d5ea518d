"""Who may read and answer approvals, and what the files and pages let others do."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from brain_testing.inbox import TOOLS_TOKEN, Ask, InboxService
from local_tools.service import make_service
from tool_service import CannotServe

pytestmark = pytest.mark.requirement("LOCAL-02")
Operator = Callable[[str], httpx2.AsyncClient]


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        "Bearer not-a-key-of-anyone-here",
        f"Bearer {TOOLS_TOKEN}",
        "Basic the-key-of-ada-lovelace",
        "Bearer the-key-of-ada-lovelac",
        "Bearer the-key-of-ada-lovelacé",
    ],
)
async def test_only_an_operators_key_opens_the_inbox(
    inbox: InboxService, ask: Ask, authorization: str
) -> None:
    asked = await ask("Deploy the secret project")
    headers = {b"Authorization": authorization.encode()}
    async with httpx2.AsyncClient(base_url=inbox.url, trust_env=False) as http:
        answers = [
            await http.get("/approvals", headers=headers),
            await http.get("/approvals/log", headers=headers),
            await http.get("/approvals/events", headers=headers),
            await http.post(
                f"/approvals/{asked.call_id}",
                json={"answer": "yes"},
                headers={**headers, b"Origin": inbox.url.encode()},
            ),
        ]

    assert [answer.status_code for answer in answers] == [401] * 4
    assert all(answer.headers["www-authenticate"] == "Bearer" for answer in answers)
    assert "secret project" not in "".join(answer.text for answer in answers)


@pytest.mark.parametrize("origin", ["", "null", "http://evil.example", "http://127.0.0.1:1"])
async def test_a_cookie_counts_only_from_the_page_itself(
    inbox: InboxService, ask: Ask, operator: Operator, origin: str
) -> None:
    asked = await ask("Deploy")
    async with httpx2.AsyncClient(base_url=inbox.url, trust_env=False) as http:
        own = {"Origin": inbox.url}
        signed = await http.post("/sign-in", json={"key": inbox.keys["ada"]}, headers=own)
        assert signed.json() == {"operator": "ada"}
        headers = {"Origin": origin} if origin else {}
        path, body = f"/approvals/{asked.call_id}", {"answer": "yes"}
        forged = await http.post(path, json=body, headers=headers)
        as_text = await http.post(path, content='{"answer":"yes"}', headers=own)
        signed_out = await http.post("/sign-out", headers=headers)
        signed_in = await http.post("/sign-in", json={"key": inbox.keys["bob"]}, headers=headers)
        assert forged.status_code == signed_out.status_code == signed_in.status_code == 403
        assert as_text.status_code == 415
        assert (await http.get("/approvals?status=pending")).json()["approvals"]
        assert (await http.post(path, json=body, headers=own)).status_code == 200


async def test_a_cookie_of_someone_who_signed_out_or_made_it_up_is_worth_nothing(
    inbox: InboxService,
) -> None:
    async with httpx2.AsyncClient(base_url=inbox.url, trust_env=False) as http:
        own = {"Origin": inbox.url}
        signed = await http.post("/sign-in", json={"key": inbox.keys["ada"]}, headers=own)
        cookie = signed.headers["set-cookie"].split(";")[0]
        await http.post("/sign-out", headers=own)
    async with httpx2.AsyncClient(base_url=inbox.url, trust_env=False) as http:
        for forged in (cookie, "approvals=ada", "approvals=", "approvals=%00"):
            answer = await http.get("/approvals", headers={"Cookie": forged})
            assert answer.status_code == 401


async def test_a_sign_in_ends_after_twelve_hours(inbox: InboxService) -> None:
    async with httpx2.AsyncClient(base_url=inbox.url, trust_env=False) as http:
        own = {"Origin": inbox.url}
        await http.post("/sign-in", json={"key": inbox.keys["ada"]}, headers=own)
        assert (await http.get("/approvals")).status_code == 200
        await inbox.clock.advance(12 * 3600)
        assert (await http.get("/approvals")).status_code == 401


async def test_over_https_the_cookie_stays_there(inbox: InboxService) -> None:
    async with httpx2.AsyncClient(base_url=inbox.url, trust_env=False) as http:
        behind_a_proxy = {"Origin": inbox.url.replace("http:", "https:")}
        body = {"key": inbox.keys["ada"]}
        signed = await http.post("/sign-in", json=body, headers=behind_a_proxy)

    parts = signed.headers["set-cookie"].lower().split("; ")
    assert {"secure", "httponly", "samesite=strict", "path=/"} <= set(parts)


async def test_every_file_of_the_page_comes_with_the_policy(inbox: InboxService) -> None:
    async with httpx2.AsyncClient(base_url=inbox.url, trust_env=False) as http:
        for path in ("/", "/page.js", "/card.js", "/text.js", "/page.css", "/icon.svg"):
            answer = await http.get(path)
            policy = answer.headers["content-security-policy"]
            assert answer.status_code == 200
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "http:" not in answer.text.replace("http://www.w3.org/2000/svg", "")
            assert "https:" not in answer.text


async def test_the_files_hold_no_key_and_are_their_owners_alone(
    inbox: InboxService, ask: Ask, operator: Operator
) -> None:
    asked = await ask("Deploy")
    await operator("ada").post(f"/approvals/{asked.call_id}", json={"answer": "yes"})
    async with httpx2.AsyncClient(base_url=inbox.url, trust_env=False) as http:
        own = {"Origin": inbox.url}
        await http.post("/sign-in", json={"key": inbox.keys["ada"]}, headers=own)
        token = http.cookies["approvals"]
    stored = b"".join(file.read_bytes() for file in inbox.data.iterdir())

    for secret in (*inbox.keys.values(), token, TOOLS_TOKEN):
        assert secret.encode() not in stored
    assert (inbox.data / "approvals.db").stat().st_mode & 0o077 == 0


async def test_the_audit_log_can_not_be_changed_afterwards(
    inbox: InboxService, ask: Ask, operator: Operator
) -> None:
    asked = await ask("Deploy")
    await operator("ada").post(f"/approvals/{asked.call_id}", json={"answer": "yes"})
    connection = sqlite3.connect(inbox.data / "approvals.db")
    for change in ("UPDATE audit SET operator = 'bob'", "DELETE FROM audit"):
        with pytest.raises(sqlite3.IntegrityError, match="only added to"):
            connection.execute(change)
    connection.close()


@pytest.mark.parametrize(
    ("keys", "wrong"),
    [
        ("ada", "entry 1"),
        ("ada=the-key-of-ada-lovelace,=the-key-of-nobody-x", "entry 2"),
        ("ada=the-kéy-of-ada-lovelace", "ASCII"),
        ("ada=too-brief", "shorter than 16"),
        ("ada=the-key-of-both-of-us,bob=the-key-of-both-of-us", "same key"),
        ("<b>=the-key-of-ada-lovelace", "entry 1"),
    ],
)
async def test_keys_that_can_not_be_used_are_said_without_showing_them(
    tmp_path: Path, keys: str, wrong: str
) -> None:
    service = make_service({"APPROVALS_KEYS": keys})
    with pytest.raises(CannotServe, match=wrong) as refused:
        async with service.running(None, data=tmp_path):
            raise AssertionError
    for pair in keys.split(","):
        key = pair.partition("=")[2]
        assert not key or key not in str(refused.value)


async def test_a_second_service_on_the_same_folder_does_not_start(inbox: InboxService) -> None:
    with pytest.raises(CannotServe, match="another service uses"):
        async with make_service({}).running(None, data=inbox.data):
            raise AssertionError


@pytest.mark.parametrize("content", [b"this is no database, but a text of some length" * 100, None])
async def test_a_file_of_something_else_is_left_alone(
    tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "approvals.db"
    if content is None:
        connection = sqlite3.connect(file)
        connection.execute("CREATE TABLE theirs (x)")
        connection.close()
    else:
        file.write_bytes(content)
    before = file.read_bytes()
    with pytest.raises(CannotServe, match=r"approvals\.db"):
        async with make_service({}).running(None, data=tmp_path):
            raise AssertionError

    assert file.read_bytes() == before
