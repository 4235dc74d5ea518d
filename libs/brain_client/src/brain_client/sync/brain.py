"""Brain, as one tenant sees it. Above: applications. Below: `session`, `connection`."""

import os
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, cast

from brain_client.sync.connection import Connection
from brain_client.sync.session import Session
from brain_client.types import Catalog, NewSession, SessionData, SessionPage
from brain_client.wire import DEFAULT_URL, Json, in_path


class Brain:
    """Brain, as one tenant sees it. Use it in a `with` block, or close it.

    `url` and `key` default to the variables BRAIN_URL and BRAIN_API_KEY; an answer may take
    `timeout_seconds`. Raises `BrainError` for what Brain refuses and `BrainUnavailable` when it
    can't be reached.
    """

    def __init__(
        self, url: str | None = None, key: str | None = None, *, timeout_seconds: float = 60
    ) -> None:
        self._connection = Connection(
            url or os.environ.get("BRAIN_URL") or DEFAULT_URL,
            key or os.environ.get("BRAIN_API_KEY") or "",
            timeout_seconds,
        )
        self.url = self._connection.url

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    def catalog(self) -> Catalog:
        """The harnesses, models and tools that this tenant may use."""
        return cast("Catalog", self.call("GET", "/catalog"))

    def create(self, session: NewSession | Mapping[str, Any]) -> Session:
        """A new session, from the body of `POST /sessions`."""
        made = self.call("POST", "/sessions", dict(session))
        return Session(self._connection, cast("SessionData", made))

    def session(self, session_id: str) -> Session:
        """A session that is there already."""
        found = self.call("GET", f"/sessions/{in_path(session_id)}")
        return Session(self._connection, cast("SessionData", found))

    def sessions(self, **query: Any) -> SessionPage:
        """A page of sessions, newest first: `limit`, `cursor`, `status`."""
        return cast("SessionPage", self.call("GET", "/sessions", query=query))

    def usage(self, first_day: str | None = None, last_day: str | None = None) -> Json:
        """What the tenant has used, by day and model, and the sum. Days are `2026-12-31`, in UTC.

        What isn't known is None.
        """
        days = {"from": first_day, "to": last_day}
        return self.call("GET", "/usage", query={k: v for k, v in days.items() if v})

    def call(
        self, method: str, path: str, body: object = None, query: Mapping[str, Any] | None = None
    ) -> Json:
        """Any request of the HTTP API: its answer's JSON."""
        return self._connection.call(method, path, body, query)
