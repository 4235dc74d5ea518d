"""`brain backup`, `brain restore`, `brain doctor`: the log in an operator's hands."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from brain_testing.api import Api
from brain_testing.commands import BIN, clean_env, finished
from brain_testing.desk import Desk
from brain_testing.reading import only, said
from brain_testing.running import RunningBrain

pytestmark = [pytest.mark.requirement("REC-03"), pytest.mark.xdist_group("commands")]

BRAIN = str(BIN / "brain")


async def command(brain: RunningBrain, *arguments: str) -> tuple[int, str]:
    """Run `brain` where the host config is, with its variables."""
    env = clean_env(**brain.env())
    return await finished(BRAIN, *arguments, "--config", "brain.json", folder=brain.folder, env=env)


async def test_a_backup_made_while_a_turn_runs_can_be_put_in_place(
    brain: RunningBrain, api: Api, desk: Desk
) -> None:
    session_id = await api.create("ask")
    await api.send(session_id, "/call ask {}")
    call = await desk.next_call()
    before = await api.events(session_id)
    code, told = await command(brain, "backup", "copy.db")
    assert code == 0, told
    assert told.startswith(f"copy.db: 1 sessions, {len(before)} events")
    assert (brain.folder / "copy.db").stat().st_mode & 0o777 == 0o600

    call.say("done")
    await api.until_idle(session_id)
    later = await api.create()
    refused, why = await command(brain, "restore", "copy.db", "--replace")
    assert (refused, "Another Brain is using" in why) == (1, True)

    await brain.stop_engine()
    refused, why = await command(brain, "restore", "copy.db")
    assert (refused, "--replace" in why) == (1, True)
    code, told = await command(brain, "restore", "copy.db", "--replace")
    assert code == 0, told
    aside = Path(told.partition("before is in ")[2].splitlines()[0].rstrip("."))
    assert aside.exists()

    await brain.start_engine()
    await api.until_ready()
    events = await api.until_idle(session_id)
    assert events[: len(before)] == before
    assert only(events, "tool.result")["code"] == "engine_died"
    assert said(events).startswith("The server stopped")
    assert (await api.http.get(f"/sessions/{later}")).status_code == 404
    assert len(desk.arrived) == 1


async def test_a_backup_never_overwrites_and_leaves_nothing_behind_when_it_fails(
    brain: RunningBrain,
) -> None:
    (brain.folder / "taken.db").write_text("mine")
    code, why = await command(brain, "backup", "taken.db")
    assert (code, "there already" in why) == (1, True)
    assert (brain.folder / "taken.db").read_text() == "mine"
    code, why = await command(brain, "backup", "/proc/no/copy.db")
    assert code == 1
    assert len(why.splitlines()) == 1
    assert not list(brain.folder.glob(".*"))


@pytest.mark.parametrize("what", ["damaged", "foreign", "newer", "no database", "missing"])
async def test_a_copy_that_is_of_no_use_is_refused_and_the_log_stays(
    brain: RunningBrain, api: Api, what: str
) -> None:
    session_id = await api.create()
    await command(brain, "backup", "copy.db")
    await brain.stop_engine()
    spoil(brain.folder / "copy.db", what)
    code, why = await command(brain, "restore", "copy.db", "--replace")
    assert code == 1
    assert len(why.splitlines()) == 1, why
    await brain.start_engine()
    await api.until_ready()
    assert (await api.session(session_id))["id"] == session_id


def spoil(path: Path, what: str) -> None:
    if what == "missing":
        path.unlink()
    elif what == "no database":
        path.write_text("not a database at all, " * 100)
    elif what == "damaged":
        raw = bytearray(path.read_bytes())
        raw[4096:8192] = b"\xff" * 4096
        path.write_bytes(raw)
    else:
        with sqlite3.connect(path) as connection:
            if what == "foreign":
                connection.execute("PRAGMA application_id = 7")
            else:
                connection.execute("INSERT INTO migrations VALUES (9999, 'x')")


async def test_the_doctor_finds_everything_well(brain: RunningBrain, api: Api) -> None:
    await api.create()
    brain.config()  # written anew, now that the edge's port is known
    code, told = await command(brain, "doctor", "--json")
    found = {line["what"]: line for line in map(json.loads, told.splitlines())}
    assert code == 0, told
    assert {what: line["verdict"] for what, line in found.items()} == {
        "config": "ok",
        "store": "ok",
        "engine": "ok",
        "edge": "ok",
        "tools": "ok",
    }
    assert "1 sessions, 1 events, whole, in use by an engine" in found["store"]["said"]
    assert brain.key not in told


async def test_the_doctor_says_what_is_wrong_and_what_to_do(brain: RunningBrain) -> None:
    await brain.stop()
    spoil(brain.folder / "brain.db", "damaged")
    document = json.loads((brain.folder / "brain.json").read_text())
    document["tools"][0]["url"] = "http://127.0.0.1:1/tools/ask"
    (brain.folder / "brain.json").write_text(json.dumps(document))
    code, told = await command(brain, "doctor")
    wrong = [line for line in told.splitlines() if line.startswith("wrong")]
    assert code == 1
    assert [line.split()[1] for line in wrong] == ["store", "tools"]
    assert "Put back a copy" in wrong[0]
    assert "Connection refused" in wrong[1]
    shutil.copy(brain.folder / "brain.json", brain.folder / "kept.json")
    (brain.folder / "brain.json").write_text('{"tools": [], "listn": 1}')
    code, told = await command(brain, "doctor")
    assert code == 1
    assert "/listn" in told
