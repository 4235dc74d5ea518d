"""Brain, as one tenant sees it. Above: applications. Below: `session`, `connection`."""

import os
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, cast

from brain_client.aio.connection import AsyncConnection
from brain_client.aio.session import AsyncSession
from brain_client.types import Catalog, NewSession, SessionData, SessionPage
from brain_client.wire import DEFAULT_URL, Json, in_path


class AsyncBrain:
    """Brain, as one tenant sees it. Use it in a `with` block, or close it.

    `url` and `key` default to the variables BRAIN_URL and BRAIN_API_KEY; an answer may take
    `timeout_seconds`. Raises `BrainError` for what Brain refuses and `BrainUnavailable` when it
    can't be reached.
    """

    def __init__(
        self, url: str | None = None, key: str | None = None, *, timeout_seconds: float = 60
    ) -> None:
        self._connection = AsyncConnection(
            url or os.environ.get("BRAIN_URL") or DEFAULT_URL,
            key or os.environ.get("BRAIN_API_KEY") or "",
            timeout_seconds,
        )
        self.url = self._connection.url

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connection.aclose()

    async def catalog(self) -> Catalog:
        """The harnesses, models and tools that this tenant may use."""
        return cast("Catalog", await self.call("GET", "/catalog"))

    async def create(self, session: NewSession | Mapping[str, Any]) -> AsyncSession:
        """A new session, from the body of `POST /sessions`."""
        made = await self.call("POST", "/sessions", dict(session))
        return AsyncSession(self._connection, cast("SessionData", made))

    async def session(self, session_id: str) -> AsyncSession:
        """A session that is there already."""
        found = await self.call("GET", f"/sessions/{in_path(session_id)}")
        return AsyncSession(self._connection, cast("SessionData", found))

    async def sessions(self, **query: Any) -> SessionPage:
        """A page of sessions, newest first: `limit`, `cursor`, `status`."""
        return cast("SessionPage", await self.call("GET", "/sessions", query=query))

    async def usage(self, first_day: str | None = None, last_day: str | None = None) -> Json:
        """What the tenant has used, by day and model, and the sum. Days are `2026-12-31`, in UTC.

        What isn't known is None.
        """
        days = {"from": first_day, "to": last_day}
        return await self.call("GET", "/usage", query={k: v for k, v in days.items() if v})

    async def call(
        self, method: str, path: str, body: object = None, query: Mapping[str, Any] | None = None
    ) -> Json:
        """Any request of the HTTP API: its answer's JSON."""
        return await self._connection.call(method, path, body, query)
