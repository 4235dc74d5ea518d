"""`brain chat`: a session in the terminal."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from brain_testing.commands import BIN, brain_up, clean_env, finished, running

pytestmark = pytest.mark.xdist_group("commands")
BRAIN = str(BIN / "brain")


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Path]:
    """A folder in which `brain up` runs."""
    async with brain_up(tmp_path):
        yield tmp_path


async def test_it_ends_with_its_input(home: Path) -> None:
    async with running(BRAIN, "chat", folder=home) as chat:
        await chat.type("hello\n/exit\nnever read\n")
        assert await chat.ends() == 0
        assert chat.said == "You said: hello\n"


async def test_a_refused_call_is_said_plainly(home: Path) -> None:
    async with running(BRAIN, "chat", folder=home) as chat:
        await chat.type('/call echo {"text":5}\n')
        await chat.says("✗ echo: ")


async def test_ctrl_c_at_the_prompt_ends_the_chat(home: Path) -> None:
    terminal, end = os.openpty()
    chat = await asyncio.create_subprocess_exec(
        *(BRAIN, "chat"), cwd=home, env=clean_env(), stdin=end, stdout=end, stderr=end
    )
    os.close(end)
    async with asyncio.timeout(40):
        said = b""
        while not said.endswith(b"> "):
            said += await asyncio.to_thread(os.read, terminal, 1024)
        chat.send_signal(signal.SIGINT)
        assert await chat.wait() == 0
    os.close(terminal)
    assert b"demo/script" in said


async def test_a_session_can_be_gone_on_with(home: Path) -> None:
    unknown = ("chat", "--session", "ses_unknown")
    code, said = await finished(BRAIN, *unknown, folder=home)

    assert code == 1
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--tools", "echo,nope"), "/config/tools/1"),
        (("--model", "nobody/x"), "/config/model"),
        (("--key", "wrong"), "key"),
        (("--url", "http://127.0.0.1:1"), "can't be reached"),
    ],
)
async def test_what_does_not_work_is_one_clear_line(
    home: Path, options: tuple[str, ...], says: str
) -> None:
    code, said = await finished(BRAIN, "chat", *options, folder=home)

    assert code == 1
    assert len(said.splitlines()) == 1
    assert says in said
