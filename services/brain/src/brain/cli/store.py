"""`brain backup` and `brain restore`: copies of the SQLite log. Below: `sqlite_copies`."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from brain.cli.home import CONFIG_FILE
from brain.config.document import read
from brain.config.host import HostConfig
from brain.config.problem import Problem, as_object
from brain.config.store import SQLITE, sqlite_path
from brain.engine.log.opening import LogCannotOpen
from brain.engine.log.sqlite_copies import Contents, back_up, restore


class NoStore(Exception):
    """It isn't known where the log is; the message is one clear line."""


def backup(given: argparse.Namespace) -> int:
    """`brain backup FILE`."""
    return _with_problems(given, _backup)


def restoring(given: argparse.Namespace) -> int:
    """`brain restore FILE`."""
    return _with_problems(given, _restore)


def config_file(given: argparse.Namespace) -> Path:
    """The host config that was named, or else that of the home. Raises: NoStore."""
    path: Path = given.host_config or given.home / CONFIG_FILE
    if not path.exists():
        raise NoStore(f"there is no {path}. Name the host config with --config FILE.")
    return path


def sqlite_file(config: Path) -> Path:
    """Where a config keeps its log, whether or not its variables are set. Raises: NoStore."""
    document = read(config)
    if isinstance(document, Problem):
        raise NoStore(f"{config}: {document}")
    entries = as_object(document) or {}
    named = entries.get("store_env")
    store = named if named is not None else entries.get("store", HostConfig().store)
    if not isinstance(store, str) or not store.startswith(SQLITE):
        raise NoStore(
            f"{config} keeps its log in Postgres, whose own tools copy it: pg_dump, pg_restore."
        )
    return config.absolute().parent / sqlite_path(store)


def _with_problems(
    given: argparse.Namespace, work: Callable[[argparse.Namespace, Path], int]
) -> int:
    try:
        return work(given, sqlite_file(config_file(given)))
    except (NoStore, LogCannotOpen) as error:
        print(f"brain {given.command}: {error}", file=sys.stderr)
        return 1


def _backup(given: argparse.Namespace, path: Path) -> int:
    contents = back_up(path, given.file)
    print(f"{given.file}: {_told(contents)}, as of now.")
    return 0


def _restore(given: argparse.Namespace, path: Path) -> int:
    contents, aside = restore(given.file, path, replace=given.replace)
    print(f"{path}: {_told(contents)}.")
    if aside is not None:
        print(f"What was there before is in {aside}.")
    print(
        "What happened after that copy was made isn't in it: tools may have done more than it says."
    )
    return 0


def _told(contents: Contents) -> str:
    megabytes = contents.size / 1_000_000
    return f"{contents.sessions} sessions, {contents.events} events, {megabytes:.1f} MB"
