"""How an application asks Brain for things: again, with the same key, until it is answered.

Above: `sessions`. Below: HTTP. Now and then it also asks again for what it was answered already.
"""

import asyncio
from collections import deque
from random import Random
from typing import Any

import httpx2
from msgspec import Struct

from brain_testing.api import Api
from brain_testing.chaos.process import KEY

Json = dict[str, Any]
LOST = (httpx2.HTTPError, httpx2.StreamError)
PAUSE = 0.05
_PATIENCE_SECONDS = 150
_REMEMBERED = 8


class Request(Struct, frozen=True):
    """Something to ask for. Without a key it is asked once."""

    method: str
    path: str
    body: Json | None = None
    key: str | None = None


class Asker:
    """One application's requests, to whichever edge."""

    def __init__(self, urls: list[str], rng: Random) -> None:
        self._apis = [Api(url, KEY) for url in urls]
        self._rng = rng
        self._answered: deque[tuple[Request, Json]] = deque(maxlen=_REMEMBERED)

    @property
    def api(self) -> Api:
        """An edge; another one each time."""
        return self._rng.choice(self._apis)

    async def post(self, path: str, body: Json | None = None) -> httpx2.Response | None:
        """Ask for something that must take effect once; None if there never was a clear answer."""
        request = Request("POST", path, body, f"{self._rng.getrandbits(64):016x}")
        answer = await self._until_answered(request)
        if answer is not None and answer.is_success:
            self._answered.append((request, answer.json()))
        return answer

    async def once(self, method: str, path: str) -> httpx2.Response | None:
        """Ask once; None if there was no clear answer."""
        return await self._ask(Request(method, path))

    async def repeat(self) -> tuple[Json, Json] | None:
        """Ask again for something that was answered: the answer then, and now."""
        if not self._answered:
            return None
        request, before = self._rng.choice(self._answered)
        again = await self._until_answered(request)
        if again is None:
            return None
        return before, again.json()

    async def close(self) -> None:
        for api in self._apis:
            await api.http.aclose()

    async def _until_answered(self, request: Request) -> httpx2.Response | None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _PATIENCE_SECONDS
        while loop.time() < deadline:
            answer = await self._ask(request)
            if answer is not None:
                return answer
            await asyncio.sleep(PAUSE)
        return None

    async def _ask(self, request: Request) -> httpx2.Response | None:
        headers = {} if request.key is None else {"Idempotency-Key": request.key}
        try:
            answer = await self.api.http.request(
                request.method, request.path, json=request.body, headers=headers
            )
        except LOST:
            return None
        return answer if answer.status_code < 500 else None
