"""The folder of `brain up`, without starting anything."""

import json
import stat
from pathlib import Path

import pytest

from brain.cli.home import Home, HomeProblem

KEYS = {"BRAIN_TOOLS_KEY": "tools_key"}


def home_in(folder: Path) -> Home:
    return Home(folder / "home", KEYS)


def test_a_start_that_was_killed_half_way_is_gone_on_with(tmp_path: Path) -> None:
    home = home_in(tmp_path)
    home.path.mkdir()
    home.api_key.write_text("the-key-that-was-made-first\n")
    (home.path / "tools_key").write_text("")
    with home.opened():
        keys = home.keys()

    assert keys["BRAIN_API_KEY"] == "the-key-that-was-made-first"
    assert len(keys["BRAIN_TOOLS_KEY"]) >= 32


def test_a_key_that_others_can_read_is_made_private(tmp_path: Path) -> None:
    home = home_in(tmp_path)
    home.path.mkdir()
    home.api_key.write_text("a-key\n")
    home.api_key.chmod(0o644)
    with home.opened():
        assert stat.S_IMODE(home.api_key.stat().st_mode) == 0o600
        assert home.keys()["BRAIN_API_KEY"] == "a-key"


def test_only_one_may_have_a_home_open(tmp_path: Path) -> None:
    second = home_in(tmp_path).opened()
    with home_in(tmp_path).opened(), pytest.raises(HomeProblem, match="another `brain up`"):
        second.__enter__()
    with home_in(tmp_path).opened():
        pass


@pytest.mark.parametrize("bad", [b"\xff\xfe", "schlüssel".encode()])
def test_a_key_that_is_not_text_is_one_clear_line(tmp_path: Path, bad: bytes) -> None:
    home = home_in(tmp_path)
    home.path.mkdir()
    home.api_key.write_bytes(bad)
    with home.opened(), pytest.raises(HomeProblem, match="isn't ASCII") as raised:
        home.keys()

    assert "\n" not in str(raised.value)


def test_a_folder_in_a_keys_place_is_one_clear_line(tmp_path: Path) -> None:
    home = home_in(tmp_path)
    home.api_key.mkdir(parents=True)
    with pytest.raises(HomeProblem, match="api_key can't be used"):
        home.opened().__enter__()


def test_a_config_is_private_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    home = home_in(tmp_path)
    with home.opened():
        home.make_config(8080, [])

    assert stat.S_IMODE(home.config.stat().st_mode) == 0o600
    assert sorted(each.name for each in home.path.iterdir()) == [
        "api_key",
        "brain.json",
        "lock",
        "tools_key",
    ]


def test_the_socket_of_a_home_with_a_long_path_is_in_a_folder_of_our_own(tmp_path: Path) -> None:
    home = home_in(tmp_path / ("long" * 30))
    with home.opened():
        home.make_config(8080, [])
    listen: str = json.loads(home.config.read_text())["engine"]["listen"]
    home.check_socket(listen)
    folder = Path(listen.removeprefix("unix:")).parent

    assert len(listen) < 100
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.rmdir()


def test_a_socket_where_others_can_write_is_refused(tmp_path: Path) -> None:
    open_to_all = tmp_path / "tmp"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    with pytest.raises(HomeProblem, match="others can write"):
        home_in(tmp_path).check_socket(f"unix:{open_to_all}/engine.sock")
