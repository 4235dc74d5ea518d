"""`brain chat` with a real model server, in each wire format: what a person gets to see."""

import base64
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from brain_testing.commands import BIN, clean_env, finished, running
from brain_testing.desk import Desk
from brain_testing.model_server import (
    DIALECTS,
    KEY,
    Call,
    Dialect,
    Gate,
    ModelServer,
    Say,
    Status,
    Think,
    model_server,
)
from brain_testing.model_server.pictures import PNG
from brain_testing.plugin import StartBrain
from brain_testing.terminal import chat_on_a_terminal

BRAIN = str(BIN / "brain")
NO_QUOTA = '{"error":{"code":"insufficient_quota","message":"You exceeded your quota."}}'
MODEL = ("--model", "test/some/model-1.5")


@pytest.fixture(params=DIALECTS)
async def server(request: pytest.FixtureRequest) -> AsyncGenerator[ModelServer]:
    async with model_server() as opened:
        yield opened
    assert not opened.refused


@pytest.fixture
async def env(
    request: pytest.FixtureRequest, server: ModelServer, start_brain: StartBrain, desk: Desk
) -> dict[str, str]:
    """The environment of a user whose Brain has this server's models."""
    dialect: Dialect = request.node.callspec.params["server"]
    brain = await start_brain(
        tools=[desk.binding("ask")],
        env={"MODEL_KEY": KEY},
        extra={"models": [server.provider(dialect)]},
    )
    return clean_env(BRAIN_URL=brain.url, BRAIN_API_KEY=brain.key, TERM="xterm")


async def test_a_whole_turn_with_thoughts_and_a_tool_call(
    env: dict[str, str], server: ModelServer, desk: Desk
) -> None:
    server.add((Think("Hm, twice two."), Say("I'll ask."), Call("ask", '{"n":2}')), (Say("Four."),))
    async with chat_on_a_terminal(*MODEL, "--thinking", "low", env=env) as terminal:
        await terminal.shows("> ")
        terminal.type("Twice two?\n")
        (await desk.next_call()).say("4")
        await terminal.shows("Four.\n> ")
        terminal.type("\x04")
        assert await terminal.ends() == 0

    shown = terminal.said.replace("\x1b[0m\x1b[2m", "")
    assert shown.split("Twice two?\n")[1].startswith(
        '\x1b[2mHm, twice two.\x1b[0m\nI\'ll ask.\n→ ask {"n": 2}\n← ask: 4\nFour.\n'
    )


async def test_thoughts_can_be_hidden(env: dict[str, str], server: ModelServer) -> None:
    server.add((Think("Hm."), Say("Yes.")))
    async with chat_on_a_terminal(
        *MODEL, "--thinking", "low", "--hide-thinking", env=env
    ) as terminal:
        await terminal.shows("> ")
        terminal.type("Well?\n")
        await terminal.shows("Well?\nYes.\n> ")


async def test_an_interrupt_keeps_what_was_said_and_the_next_message_works(
    env: dict[str, str], server: ModelServer
) -> None:
    server.add((Say("One two"), Gate(), Say(" three")), (Say("Here."),))
    async with chat_on_a_terminal(*MODEL, env=env) as terminal:
        await terminal.shows("> ")
        terminal.type("Count.\n")
        await terminal.shows("Count.\nOne two")
        terminal.press_ctrl_c()
        await terminal.shows("One two\n(interrupted)\n> ")
        terminal.type("Are you there?\n")
        await terminal.shows("Here.\n> ")
        terminal.press_ctrl_c()
        assert await terminal.ends() == 0


async def test_an_image_goes_with_the_next_message_only(
    env: dict[str, str], server: ModelServer, tmp_path: Path
) -> None:
    (tmp_path / "a picture.png").write_bytes(base64.b64decode(PNG))
    async with chat_on_a_terminal(*MODEL, env=env, folder=tmp_path) as terminal:
        await terminal.shows("> ")
        terminal.type("/image nowhere.png\n")
        await terminal.shows("(nowhere.png can't be read: No such file or directory.)\n> ")
        terminal.type("/image a picture.png\n")
        await terminal.shows("(a picture.png goes with the next message)\n> ")
        terminal.type("What is it?\n")
        await terminal.shows("ok\n> ")
        terminal.type("And now?\n")
        await terminal.shows("And now?\nok\n> ")

    assert [PNG in str(asked.body) for asked in server.requests] == [True, True]
    assert str(server.requests[1].body).count(PNG) == 1


async def test_a_script_does_not_ask_about_an_image_that_is_missing(
    env: dict[str, str], server: ModelServer, tmp_path: Path
) -> None:
    async with running(BRAIN, "chat", *MODEL, folder=tmp_path, env=env) as chat:
        await chat.type("/image nowhere.png\nWhat is it?\nHello.\n/exit\n")
        assert await chat.ends() == 1

    assert len(server.requests) == 1
    assert "nowhere.png can't be read" in chat.said
    assert "not sent, since its image is missing" in chat.said


@pytest.mark.parametrize(
    ("status", "says", "helps"),
    [
        (Status(401), "refused the API key", "the variable that the host config names"),
        (Status(404, "There is no such model."), "doesn't offer this model", "--model takes"),
        (Status(429, body=NO_QUOTA), "no credit or quota left", "Add credit"),
    ],
    ids=["key", "model", "quota"],
)
async def test_a_failure_is_one_line_with_what_to_do_and_the_chat_goes_on(
    env: dict[str, str], server: ModelServer, tmp_path: Path, status: Status, says: str, helps: str
) -> None:
    server.add((status,))
    async with running(BRAIN, "chat", *MODEL, folder=tmp_path, env=env) as chat:
        await chat.type("Hello?\nHello again.\n/exit\n")
        assert await chat.ends() == 1

    failed, answer = chat.said.splitlines()
    assert says in failed
    assert helps in failed
    assert answer == "ok"


async def test_a_retry_is_said(env: dict[str, str], server: ModelServer, tmp_path: Path) -> None:
    server.add((Status(429, "Slow down.", headers={"retry-after": "0"}),), (Say("Here."),))
    async with running(BRAIN, "chat", *MODEL, folder=tmp_path, env=env) as chat:
        await chat.type("Hello?\n/exit\n")
        assert await chat.ends() == 0

    retried, answer = chat.said.splitlines()
    assert "limits how often" in retried
    assert "Trying again in" in retried
    assert answer == "Here."


async def test_a_model_that_is_not_there_is_one_line_that_names_those_that_are(
    env: dict[str, str], tmp_path: Path
) -> None:
    code, said = await finished(BRAIN, "chat", "--model", "nope/x", folder=tmp_path, env=env)

    assert code == 1
    (line,) = said.splitlines()
    assert "test/*" in line
    assert "once its key is set" in line


async def test_a_newcomer_is_told_of_the_models_that_there_are(env: dict[str, str]) -> None:
    async with chat_on_a_terminal(env=env) as terminal:
        await terminal.shows("> ")
    assert "Real models: --model test/NAME." in terminal.said
