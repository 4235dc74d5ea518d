"""Brain's HTTP API as a test calls it: bare requests, nothing of the product's own client."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

import httpx2
from msgspec import Struct

Json = dict[str, Any]


class Frame(Struct, frozen=True):
    """One SSE event: `id` is None if it carried none. `text` is its data as it came."""

    id: str | None
    event: str
    data: Json
    text: str = ""


class Api:
    """A tenant's view of a Brain."""

    def __init__(self, url: str, key: str | None) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.http = httpx2.AsyncClient(base_url=url, headers=headers, timeout=20, trust_env=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.http.aclose()

    async def until_ready(self) -> None:
        """Wait until the edge has found its engine (again)."""
        async with asyncio.timeout(20):
            while (await self.http.get("/readyz")).status_code != 200:
                pass

    async def create(self, *tools: str, model: str = "demo/script", **config: Any) -> str:
        """A new session's id."""
        body = {"harness": "pi", "config": {"model": model, "tools": list(tools), **config}}
        answer = await self.http.post("/sessions", json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()["id"]

    async def session(self, session_id: str) -> Json:
        answer = await self.http.get(f"/sessions/{session_id}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def send(self, session_id: str, content: Any, **more: Any) -> Json:
        """Send a message; gives the answer's body."""
        answer = await self.http.post(
            f"/sessions/{session_id}/messages", json={"content": content, **more}
        )
        assert answer.status_code == 202, answer.text
        return answer.json()

    async def events(self, session_id: str, after: int = 0) -> list[Json]:
        """All durable events after a point."""
        found: list[Json] = []
        while True:
            answer = await self.http.get(
                f"/sessions/{session_id}/events", params={"after": after, "limit": 1000}
            )
            assert answer.status_code == 200, answer.text
            page = answer.json()
            found += page["events"]
            after = page["next_after"]
            if not page["has_more"]:
                return found

    async def turn(self, session_id: str, content: Any, **more: Any) -> list[Json]:
        """Send a message and wait until the session is idle; gives the events from it on."""
        sent = await self.send(session_id, content, **more)
        return await self.until_idle(session_id, after=sent["seq"] - 1)

    async def until_idle(self, session_id: str, after: int = 0) -> list[Json]:
        """The durable events after a point, once the session is idle."""
        async with self.follow(session_id, after=after, until="idle") as frames:
            return [frame.data async for frame in frames if frame.id is not None]

    @asynccontextmanager
    async def follow(
        self, session_id: str, *, last_event_id: str | None = None, **params: Any
    ) -> AsyncGenerator[AsyncIterator[Frame]]:
        """The session's SSE stream."""
        headers = {"Accept": "text/event-stream"}
        if last_event_id is not None:
            headers["Last-Event-ID"] = last_event_id
        request = self.http.stream(
            "GET", f"/sessions/{session_id}/events", params=params, headers=headers
        )
        async with request as answer:
            assert answer.status_code == 200, await answer.aread()
            assert answer.headers["content-type"].startswith("text/event-stream")
            yield _frames(_lines(answer.aiter_bytes()))


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Lines as Brain ends them. (A client's `aiter_lines` also ends them at U+2028 and others.)"""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.decode()


async def _frames(lines: AsyncIterator[str]) -> AsyncIterator[Frame]:
    fields: dict[str, str] = {}
    async for line in lines:
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            text = fields["data"]
            yield Frame(fields.get("id"), fields["event"], json.loads(text), text)
            fields = {}
