"""Where Brain is, and the key for it: from options, the environment, or the home of `brain up`.

Above: `chat`, `reading`. Below: `brain_client`.
"""

import argparse
import asyncio
import http
import os
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from brain.cli.home import API_KEY, API_KEY_FILE, CONFIG_FILE
from brain.config.document import read
from brain.config.problem import Problem, as_object
from brain_client import AsyncBrain, AsyncSession, BrainError, BrainUnavailable

_DEFAULT_URL = "http://127.0.0.1:8080"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_HEADER_SAFE = re.compile(r"[\x21-\x7e]+")


class NoAccess(Exception):
    """It isn't known where Brain is, or there is no key; the message is one clear line."""


class Access(NamedTuple):
    """The address of the HTTP API, and the tenant's key."""

    url: str
    key: str


def with_brain(given: argparse.Namespace, work: Callable[[AsyncBrain], Awaitable[int]]) -> int:
    """Do some work with Brain; gives the exit code. What goes wrong is one line on stderr."""
    try:
        return asyncio.run(_with(access(given), work))
    except (NoAccess, BrainError) as error:
        problem = str(error)
    except BrainUnavailable as error:
        problem = f"{error} Is it running? `brain up` starts it on this machine."
    print(f"brain {given.command}: {problem}", file=sys.stderr)
    return 1


async def _with(where: Access, work: Callable[[AsyncBrain], Awaitable[int]]) -> int:
    async with AsyncBrain(where.url, where.key) as brain:
        return await work(brain)


async def find_session(brain: AsyncBrain, ident: str) -> AsyncSession:
    """A session of this tenant. Raises: NoAccess."""
    try:
        return await brain.session(ident)
    except BrainError as error:
        if error.status == http.HTTPStatus.NOT_FOUND:
            raise NoAccess(f"there is no session {ident} for this key.") from None
        raise


def access(given: argparse.Namespace) -> Access:
    """What was given, or else what the environment says, or else what the home holds.

    Raises: NoAccess.
    """
    home_url = _home_url(given.home)
    url = given.url or os.environ.get("BRAIN_URL") or home_url or _DEFAULT_URL
    host = _host(url)
    key = given.key or os.environ.get(API_KEY)
    if not key and (host in _LOOPBACK or url == home_url):  # the home's key is for nobody else
        key = _home_key(given.home)
    if not key:
        raise NoAccess("there is no API key. Give one with --key or BRAIN_API_KEY.")
    if not _HEADER_SAFE.fullmatch(key):
        raise NoAccess("the API key must be visible ASCII characters, without spaces.")
    return Access(url, key)


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        if parts.hostname and parts.port != 0 and parts.scheme in ("http", "https"):
            return parts.hostname
    except ValueError:
        pass
    raise NoAccess(f"{url} isn't an address of Brain: it must be like {_DEFAULT_URL}.")


def _home_url(home: Path) -> str | None:
    path = home / CONFIG_FILE
    if not path.exists():
        return None
    document = read(path)
    if isinstance(document, Problem):
        raise NoAccess(f"{document} Mend {path}, or give --url and --key.")
    url = (as_object(document) or {}).get("public_url")
    return url if isinstance(url, str) else None


def _home_key(home: Path) -> str | None:
    path = home / API_KEY_FILE
    try:
        return path.read_text("ascii").strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise NoAccess(f"{path} can't be read: {error}.") from error
