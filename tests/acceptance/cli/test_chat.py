"""`brain chat`: a session in the terminal."""

import json
from pathlib import Path

import pytest

from brain_testing.api import Api
from brain_testing.commands import BIN, clean_env, finished, running
from brain_testing.desk import Desk, within
from brain_testing.running import RunningBrain
from brain_testing.terminal import chat_on_a_terminal

BRAIN = str(BIN / "brain")


@pytest.fixture
def env(brain: RunningBrain) -> dict[str, str]:
    """The environment of a user who has set where Brain is, and the key."""
    return clean_env(BRAIN_URL=brain.url, BRAIN_API_KEY=brain.key)


async def test_it_ends_with_its_input(env: dict[str, str], tmp_path: Path) -> None:
    async with running(BRAIN, "chat", folder=tmp_path, env=env) as chat:
        await chat.type("hello\n\n/exit\nnever read\n")
        assert await chat.ends() == 0
        assert chat.said == "You said: hello\n"


async def test_a_call_is_shown_with_its_progress_and_its_result(
    env: dict[str, str], tmp_path: Path, desk: Desk
) -> None:
    async with running(BRAIN, "chat", folder=tmp_path, env=env) as chat:
        await chat.type('/call ask {"n":1}\n/exit\n')
        call = await desk.next_call()
        await chat.says("→ ask")  # it follows from here on
        await call.progress({"step": 1})
        await chat.says("…")
        await call.result("done")
        assert await chat.ends() == 0

    assert chat.said.splitlines() == ['→ ask {"n": 1}', '  … {"step": 1}', "← ask: done", "done"]


async def test_a_call_with_an_unknown_outcome_is_said_plainly(
    env: dict[str, str], tmp_path: Path, desk: Desk
) -> None:
    async with running(BRAIN, "chat", folder=tmp_path, env=env) as chat:
        await chat.type("/call ask {}\n")
        (await desk.next_call()).hang_up()
        await chat.says("✗ ask (it may have happened): ")


async def test_a_refused_call_is_said_plainly(env: dict[str, str], tmp_path: Path) -> None:
    async with running(BRAIN, "chat", folder=tmp_path, env=env) as chat:
        await chat.type("/call ask 5\n")
        await chat.says("✗ ask: ")


async def test_what_a_tool_says_can_not_steer_the_terminal(
    env: dict[str, str], tmp_path: Path, desk: Desk
) -> None:
    async with running(BRAIN, "chat", folder=tmp_path, env=env) as chat:
        await chat.type("/call ask {}\n/exit\n")
        (await desk.next_call()).say("\x1b]0;title\x07\x9b2J")
        assert await chat.ends() == 0

    assert "␛]0;title␇" in chat.said
    assert not {"\x1b", "\x07", "\x9b"} & set(chat.said)


async def test_ctrl_c_ends_the_turn_and_a_second_one_the_chat(
    env: dict[str, str], desk: Desk
) -> None:
    async with chat_on_a_terminal(env=env) as terminal:
        await terminal.shows("> ")
        assert "demo/script" in terminal.said
        assert '/call echo {"text":"hello"}' in terminal.said
        terminal.type("/call ask {}\n")
        call = await desk.next_call()
        terminal.press_ctrl_c()
        await terminal.shows("(interrupted)\n> ")
        await within(call.gone.wait())
        terminal.press_ctrl_c()
        assert await terminal.ends() == 0
    assert "brain chat --session ses_" in terminal.said


async def test_a_second_ctrl_c_while_a_turn_runs_ends_the_chat(
    env: dict[str, str], brain: RunningBrain, desk: Desk
) -> None:
    async with chat_on_a_terminal(env=env) as terminal:
        await terminal.shows("> ")
        terminal.type("/call ask {}\n")
        await desk.next_call()
        await brain.stop_edge()  # nobody answers any more
        terminal.press_ctrl_c()
        await terminal.shows("Ctrl-C again ends the chat.)\n")
        terminal.press_ctrl_c()
        assert await terminal.ends() == 0


async def test_lines_that_were_typed_ahead_are_not_sent_after_the_end(
    env: dict[str, str], desk: Desk, api: Api, brain: RunningBrain
) -> None:
    session = await api.create("ask")
    async with chat_on_a_terminal("--session", session, env=env) as terminal:
        await terminal.shows("> ")
        terminal.type("/call ask {}\n")
        call = await desk.next_call()
        terminal.type("typed ahead\n")
        await terminal.shows("typed ahead\n")
        await brain.stop_edge()
        terminal.press_ctrl_c()
        await terminal.shows("Ctrl-C again ends the chat.)\n")
        terminal.press_ctrl_c()
        assert await terminal.ends() == 0
    await brain.start_edge()
    call.say("done")
    said = [event for event in await api.until_idle(session) if event["type"] == "message.user"]
    assert [event["data"]["content"] for event in said] == [
        [{"type": "text", "text": "/call ask {}"}]
    ]


@pytest.mark.requirement("CLI-01")
async def test_the_tools_and_the_usage_are_said_when_asked_for(env: dict[str, str]) -> None:
    async with chat_on_a_terminal("--tools", "ask", env=env) as terminal:
        await terminal.shows("> ")
        terminal.type("/tools\n")
        await terminal.shows("(tools: ask)\n> ")
        terminal.type("one two three\n")
        await terminal.shows("You said: one two three\n> ")
        terminal.type("/usage\n")
        await terminal.shows("(used: input 3, output 5, cached -, USD 0.0000)\n> ")
        terminal.type("/exit\n")
        assert await terminal.ends() == 0


async def test_what_is_pasted_at_once_is_one_message(env: dict[str, str]) -> None:
    async with chat_on_a_terminal(env=env) as terminal:
        await terminal.shows("> ")
        terminal.type("first line\nsecond line\n")
        await terminal.shows("You said: first line\nsecond line\n> ")
        terminal.type("/help\n/exit\n")
        assert await terminal.ends() == 0
    assert "/image PATH" in terminal.said


async def test_ctrl_c_stops_a_script(env: dict[str, str], tmp_path: Path, desk: Desk) -> None:
    async with running(BRAIN, "chat", folder=tmp_path, env=env) as chat:
        await chat.type("/call ask {}\nnever sent\n")
        await desk.next_call()
        assert await chat.stop() == 130

    assert "(interrupted)" in chat.said
    assert "never sent" not in chat.said


async def test_instructions_and_thinking_are_the_sessions(
    env: dict[str, str], tmp_path: Path, api: Api
) -> None:
    options = ("--system", "Be brief.", "--thinking", "low")
    async with running(BRAIN, "chat", *options, folder=tmp_path, env=env) as chat:
        await chat.type("/exit\n")
        assert await chat.ends() == 0

    (session,) = (await api.http.get("/sessions")).json()["sessions"]
    assert session["config"]["system_prompt"] == "Be brief."
    assert session["config"]["thinking"] == "low"


async def test_json_is_every_event_of_the_turns(env: dict[str, str], tmp_path: Path) -> None:
    async with running(BRAIN, "chat", "--json", folder=tmp_path, env=env) as chat:
        await chat.type("hello\n/exit\n")
        assert await chat.ends() == 0

    events = [json.loads(line) for line in chat.said.splitlines()]
    assert [event["type"] for event in events if "seq" in event] == [
        "message.user",
        "turn.started",
        "message.assistant",
        "turn.completed",
    ]


async def test_a_message_that_is_refused_does_not_end_a_script(
    env: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "lines").write_text("x" * 5_000_000 + "\nhello\n")
    code, said = await finished("sh", "-c", f"{BRAIN} chat <lines", folder=tmp_path, env=env)

    assert code == 1
    refused, answer = said.splitlines()
    assert "4194304" in refused
    assert answer == "You said: hello"


@pytest.mark.parametrize("option", ["--model", "--tools", "--system", "--thinking"])
async def test_what_only_a_new_session_can_have_is_refused_for_another(
    env: dict[str, str], tmp_path: Path, option: str
) -> None:
    options = ("--session", "ses_1", option, "low")
    code, said = await finished(BRAIN, "chat", *options, folder=tmp_path, env=env)

    assert code == 2
    assert f"{option} is for a new session" in said


async def test_ctrl_d_ends_the_chat(env: dict[str, str]) -> None:
    async with chat_on_a_terminal(env=env) as terminal:
        await terminal.shows("> ")
        terminal.type("\x04")
        assert await terminal.ends() == 0


async def test_a_session_is_gone_on_with(env: dict[str, str], tmp_path: Path, api: Api) -> None:
    session = await api.create("ask")
    async with running(BRAIN, "chat", "--session", session, folder=tmp_path, env=env) as chat:
        await chat.type("again\n/exit\n")
        assert await chat.ends() == 0

    assert chat.said == "You said: again\n"
    assert "message.user" in [event["type"] for event in await api.events(session)]


@pytest.mark.parametrize("tools", [[], ["--tools", ""], ["--tools", "ask"]], ids=str)
async def test_all_tools_are_enabled_unless_some_are_named(
    env: dict[str, str], tmp_path: Path, api: Api, tools: list[str]
) -> None:
    async with running(BRAIN, "chat", *tools, folder=tmp_path, env=env) as chat:
        await chat.type("/exit\n")
        assert await chat.ends() == 0

    (session,) = (await api.http.get("/sessions")).json()["sessions"]
    assert session["config"]["tools"] == ([] if tools == ["--tools", ""] else ["ask"])


async def test_a_script_fails_if_a_turn_does_not_come_to_its_end(
    env: dict[str, str], tmp_path: Path, api: Api, desk: Desk
) -> None:
    session = await api.create("ask")
    async with running(BRAIN, "chat", "--session", session, folder=tmp_path, env=env) as chat:
        await chat.type("/call ask {}\n/exit\n")
        await desk.next_call()
        await api.http.post(f"/sessions/{session}/interrupt")
        assert await chat.ends() == 1

    assert "(interrupted)" in chat.said


async def test_input_that_is_not_text_is_sent_as_far_as_it_is(
    env: dict[str, str], tmp_path: Path
) -> None:
    code, said = await finished(
        "sh", "-c", f"printf 'caf\\351\\r\\nend' | {BRAIN} chat", folder=tmp_path, env=env
    )

    assert code == 0
    assert said == "You said: caf\ufffd\nYou said: end\n"


async def test_without_any_input_it_ends_at_once(env: dict[str, str], tmp_path: Path) -> None:
    code, said = await finished("sh", "-c", f"{BRAIN} chat <&-", folder=tmp_path, env=env)

    assert (code, said) == (0, "")


async def test_a_brain_on_this_machine_is_reached_past_any_proxy(
    env: dict[str, str], tmp_path: Path
) -> None:
    nowhere = "http://127.0.0.1:1"
    env = {**env, "HTTP_PROXY": nowhere, "http_proxy": nowhere, "NO_PROXY": "example.com"}
    async with running(BRAIN, "chat", folder=tmp_path, env=env) as chat:
        await chat.type("hello\n/exit\n")
        assert await chat.ends() == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--tools", "ask,nope"), "/config/tools/1"),
        (("--model", "nobody/x"), "/config/model"),
        (("--key", "wrong"), "key"),
        (("--key", "schlüssel"), "visible ASCII"),
        (("--url", "http://127.0.0.1:1"), "can't be reached"),
        (("--url", "127.0.0.1:8080"), "isn't an address"),
        (("--url", "http://[::"), "isn't an address"),
        (("--session", "ses_unknown"), "no session ses_unknown"),
        (("--session", "../catalog"), "no session ../catalog"),
    ],
)
async def test_what_does_not_work_is_one_clear_line(
    env: dict[str, str], tmp_path: Path, options: tuple[str, ...], says: str
) -> None:
    code, said = await finished(BRAIN, "chat", *options, folder=tmp_path, env=env)

    assert code == 1
    assert len(said.splitlines()) == 1
    assert says in said


async def test_a_closed_session_is_one_clear_line(
    env: dict[str, str], tmp_path: Path, api: Api
) -> None:
    session = await api.create()
    await api.http.post(f"/sessions/{session}/close")
    async with running(BRAIN, "chat", "--session", session, folder=tmp_path, env=env) as chat:
        await chat.type("hello\n")
        assert await chat.ends() == 1

    assert len(chat.said.splitlines()) == 1


@pytest.fixture
def home(tmp_path: Path, brain: RunningBrain) -> Path:
    """What `brain up` would have made for this Brain."""
    made = tmp_path / "home"
    made.mkdir()
    (made / "brain.json").write_text(json.dumps({"public_url": brain.url}))
    (made / "api_key").write_text(brain.key + "\n")
    return made


async def test_the_address_and_the_key_are_found_in_the_home(home: Path, tmp_path: Path) -> None:
    async with running(BRAIN, "chat", "--home", str(home), folder=tmp_path) as chat:
        await chat.type("hello\n/exit\n")
        assert await chat.ends() == 0

    assert chat.said == "You said: hello\n"


async def test_the_homes_key_is_sent_to_no_other_machine(home: Path, tmp_path: Path) -> None:
    elsewhere = ("--home", str(home), "--url", "http://brain.invalid")
    code, said = await finished(BRAIN, "chat", *elsewhere, folder=tmp_path)

    assert code == 1
    assert "there is no API key" in said


@pytest.mark.parametrize(
    ("name", "content"),
    [("brain.json", b"{broken"), ("brain.json", b"\xff"), ("api_key", b"\xff"), ("api_key", b"")],
)
async def test_a_broken_home_is_one_clear_line(
    home: Path, tmp_path: Path, name: str, content: bytes
) -> None:
    (home / name).write_bytes(content)
    code, said = await finished(BRAIN, "chat", "--home", str(home), folder=tmp_path)

    assert code == 1
    assert len(said.splitlines()) == 1
