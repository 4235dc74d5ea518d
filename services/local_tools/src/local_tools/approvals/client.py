"""The operators' HTTP API as the command line calls it. Above: `command`. Below: httpx2."""

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2

from local_tools.approvals.operators import KEY_FILE

Json = dict[str, Any]
_SECONDS = 30


class Failed(Exception):
    """It can't be done; the message is one clear line."""


class Client:
    """An operator's view of the inbox. Raises: Failed, from each method."""

    def __init__(self, http: httpx2.Client) -> None:
        self._http = http

    def get(self, path: str) -> Json:
        return self._call("GET", path)

    def answer(self, call_id: str, decision: Json) -> Json:
        return self._call("POST", f"/approvals/{quote(call_id, safe='')}", decision)

    def log(self) -> Iterator[Json]:
        """The whole audit log, oldest first."""
        after, more = 0, True
        while more:
            page = self.get(f"/approvals/log?after={after}")
            yield from page["entries"]
            after, more = page["next_after"], page["has_more"]

    def _call(self, verb: str, path: str, body: Json | None = None) -> Json:
        try:
            answer = self._http.request(verb, path, json=body)
        except httpx2.HTTPError as error:
            raise Failed(f"{self._http.base_url} can't be reached: {error}.") from error
        try:
            said: Json = answer.json()
        except ValueError:
            said = {}
        if answer.status_code != 200 or not said:
            raise Failed(said.get("detail") or f"It answered with status {answer.status_code}.")
        return said


@contextmanager
def client(url: str, data: Path) -> Generator[Client]:
    """A client with the operator's key. Raises: Failed."""
    headers = {"Authorization": f"Bearer {_key(data)}"}
    try:
        http = httpx2.Client(base_url=url, headers=headers, timeout=_SECONDS)
    except httpx2.InvalidURL as error:
        raise Failed(f"{url} can't be used: {error}.") from error
    with http:
        yield Client(http)


def _key(data: Path) -> str:
    given = os.environ.get("APPROVALS_KEY", "").strip()
    if not given.isascii():
        raise Failed("APPROVALS_KEY is no operator's key: those are of ASCII characters.")
    if given:
        return given
    try:
        return (data / KEY_FILE).read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise Failed(
            f"set APPROVALS_KEY to your operator's key, or name the folder of the service with "
            f"--data, which has one in {KEY_FILE}."
        ) from None
