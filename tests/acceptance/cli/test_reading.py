"""`brain sessions` and `brain events`: what there is to read."""

import json
from pathlib import Path

import pytest

from brain_testing.api import Api
from brain_testing.commands import BIN, clean_env, finished, running
from brain_testing.running import RunningBrain

BRAIN = str(BIN / "brain")


@pytest.fixture
def env(brain: RunningBrain) -> dict[str, str]:
    """The environment of a user who has set where Brain is, and the key."""
    return clean_env(BRAIN_URL=brain.url, BRAIN_API_KEY=brain.key)


async def test_sessions_are_listed_newest_first(
    env: dict[str, str], tmp_path: Path, api: Api
) -> None:
    ids = [await api.create("ask"), await api.create(), await api.create()]
    code, said = await finished(BRAIN, "sessions", "--limit", "2", folder=tmp_path, env=env)

    assert code == 0
    assert [line.split()[0] for line in said.splitlines()] == [ids[2], ids[1]]


async def test_sessions_of_one_status_are_listed_as_json(
    env: dict[str, str], tmp_path: Path, api: Api
) -> None:
    open_, closed = await api.create("ask"), await api.create()
    await api.http.post(f"/sessions/{closed}/close")
    options = ("sessions", "--status", "idle", "--json")
    code, said = await finished(BRAIN, *options, folder=tmp_path, env=env)

    assert code == 0
    assert [json.loads(line) for line in said.splitlines()] == [await api.session(open_)]


async def test_events_are_what_is_in_the_log(env: dict[str, str], tmp_path: Path, api: Api) -> None:
    session = await api.create()
    await api.send(session, "hello")
    async with running(
        BRAIN, "events", session, "--follow", "--json", folder=tmp_path, env=env
    ) as follower:
        await follower.says('"turn.completed"')
        await api.http.post(f"/sessions/{session}/close")
        assert await follower.ends() == 0
    followed = [json.loads(line) for line in follower.said.splitlines()]
    code, said = await finished(BRAIN, "events", session, "--json", folder=tmp_path, env=env)

    assert code == 0
    assert [json.loads(line) for line in said.splitlines()] == await api.events(session)
    assert [event for event in followed if "seq" in event] == await api.events(session)


async def test_an_event_is_a_line_for_people(env: dict[str, str], tmp_path: Path, api: Api) -> None:
    session = await api.create()
    await api.send(session, "hello \x1b[2J")
    options = ("events", session, "--after", "1")
    code, said = await finished(BRAIN, *options, folder=tmp_path, env=env)

    assert code == 0
    first = said.splitlines()[0].split()
    assert (first[0], first[2]) == ("2", "message.user")
    assert "\x1b" not in said


async def test_a_reader_that_has_read_enough_is_no_error(
    env: dict[str, str], tmp_path: Path, api: Api
) -> None:
    session = await api.create()
    await api.http.post(f"/sessions/{session}/close")
    pipe = f"set -o pipefail; {BRAIN} events {session} | head -n 1"
    code, said = await finished("bash", "-c", pipe, folder=tmp_path, env=env)

    assert code == 0
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("options", [(), ("--follow",)])
async def test_a_session_that_is_not_there_is_one_clear_line(
    env: dict[str, str], tmp_path: Path, options: tuple[str, ...]
) -> None:
    code, said = await finished(BRAIN, "events", "ses_no", *options, folder=tmp_path, env=env)

    assert (code, said) == (1, "brain events: there is no session ses_no for this key.\n")


@pytest.mark.requirement("CLI-01")
async def test_usage_is_a_table_for_people_and_json_for_programs(
    env: dict[str, str], tmp_path: Path, api: Api
) -> None:
    await api.turn(await api.create(), "one two three")
    code, said = await finished(BRAIN, "usage", folder=tmp_path, env=env)
    heading, row, total = said.splitlines()
    assert code == 0
    assert heading.split() == ["day", "model", "input", "output", "cached", "USD"]
    assert row.split()[1:] == ["demo/script", "3", "5", "-", "0.0000"]
    assert total.split() == ["total", "3", "5", "-", "0.0000"]

    code, said = await finished(BRAIN, "usage", "--json", folder=tmp_path, env=env)
    assert [json.loads(line) for line in said.splitlines()] == (
        await api.http.get("/usage")
    ).json()["usage"]


@pytest.mark.requirement("CLI-01")
async def test_a_day_that_is_none_is_refused(env: dict[str, str], tmp_path: Path) -> None:
    code, said = await finished(BRAIN, "usage", "--from", "yesterday", folder=tmp_path, env=env)
    assert code == 1
    assert "from" in said
    assert "Traceback" not in said
