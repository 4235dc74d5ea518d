"""`brain chat`: a session in the terminal."""

import signal
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from brain_testing.commands import BIN, brain_up, finished, running

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


async def test_ctrl_c_with_nothing_to_interrupt_ends_the_chat(home: Path) -> None:
    async with running(BRAIN, "chat", folder=home) as chat:
        await chat.type("hello\n")
        await chat.says("You said: hello\n")
        assert await chat.stop(signal.SIGINT) == 0


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
