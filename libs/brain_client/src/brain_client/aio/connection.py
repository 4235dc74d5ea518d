"""Requests to Brain's HTTP API. Above: `brain`, `session`. Below: httpx2.

A Brain on this machine is never reached through a proxy, whatever the environment says; any other
one is, if the environment says so.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any
from uuid import uuid4

import httpx2

from brain_client.errors import BrainError, BrainTimeout, BrainUnavailable
from brain_client.sse import SseDecoder
from brain_client.types import Event
from brain_client.wire import Json, is_loopback, json_object

_SILENCE_SECONDS = 30.0
"""Brain sends a comment at least every 15 s: a stream that is silent for longer is dead."""
_CONNECT_SECONDS = 5.0
_RETRY_DELAYS = (0.1, 0.5)
_ENGINE_AWAY = 503
_STREAM_TIMEOUT = httpx2.Timeout(60, connect=_CONNECT_SECONDS, read=_SILENCE_SECONDS)


class AsyncConnection:
    """Brain at a URL, for the owner of a key."""

    def __init__(self, url: str, key: str, timeout_seconds: float) -> None:
        """`timeout_seconds` is how long an answer may take; a stream of events has no such end."""
        self.url = url.rstrip("/")
        self._timeout_seconds = timeout_seconds
        self._http = _client(self.url, {"Authorization": f"Bearer {key}"})

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def call(
        self,
        method: str,
        path: str,
        body: object = None,
        query: Mapping[str, Any] | None = None,
        timeout_seconds: float | None = None,
    ) -> Json:
        """An answer's JSON; `{}` if it has no body. Raises: BrainUnavailable, BrainError.

        A GET or a POST whose answer was lost is sent again, twice at most. A POST carries a key of
        its own, by which Brain knows it again: it takes effect once.
        """
        headers = {"Idempotency-Key": uuid4().hex} if method == "POST" else {}
        request = self._http.build_request(
            method,
            path,
            json=body,
            params=query,
            headers=headers,
            timeout=_timeout(timeout_seconds or self._timeout_seconds),
        )
        delays = _RETRY_DELAYS if method in ("GET", "POST") else ()
        for delay in delays:
            try:
                return await self._once(request)
            except BrainTimeout:
                raise
            except BrainUnavailable:
                await asyncio.sleep(delay)
            except BrainError as error:
                if error.status != _ENGINE_AWAY:
                    raise
                await asyncio.sleep(delay)
        return await self._once(request)

    async def _once(self, request: httpx2.Request) -> Json:
        try:
            answer = await self._http.send(request)
        except httpx2.ConnectError as error:
            raise BrainUnavailable(f"Brain can't be reached at {self.url}.") from error
        except httpx2.TimeoutException as error:
            raise BrainTimeout(f"Brain at {self.url} didn't answer in time.") from error
        except httpx2.TransportError as error:
            raise self._lost() from error
        return self._read(answer.status_code, answer.content)

    async def stream(self, path: str, query: Json, after: int) -> AsyncGenerator[Event, None]:
        """One connection's events, until it ends. Raises: BrainUnavailable, BrainError."""
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
        request = self._http.stream(
            "GET", path, params=query, headers=headers, timeout=_STREAM_TIMEOUT
        )
        try:
            async with request as answer:
                if answer.status_code != 200:
                    self._read(answer.status_code, await answer.aread())
                decoder = SseDecoder()
                async for piece in answer.aiter_bytes():
                    for event in decoder.feed(piece):
                        yield json.loads(event.data)
        except httpx2.TransportError as error:
            raise self._lost() from error

    def _lost(self) -> BrainUnavailable:
        return BrainUnavailable(f"The connection to Brain at {self.url} was lost.")

    def _read(self, status: int, body: bytes) -> Json:
        document = json_object(body) if body else {}
        if 200 <= status < 300 and document is not None:
            return document
        if status >= 400:
            raise BrainError(status, document or {})
        raise BrainError(status, {"detail": f"What answers at {self.url} isn't Brain."})


def _timeout(seconds: float) -> httpx2.Timeout:
    return httpx2.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))


def _client(url: str, headers: dict[str, str]) -> httpx2.AsyncClient:
    proxied = not is_loopback(url)
    # Certificates that the environment names are trusted for this machine, too.
    verify = httpx2.create_ssl_context() if url.startswith("https:") else True
    try:
        return httpx2.AsyncClient(base_url=url, headers=headers, trust_env=proxied, verify=verify)
    except (ValueError, ImportError) as error:  # of a kind that httpx2 doesn't know
        raise BrainUnavailable(
            f"Brain at {url} can't be reached: the proxy in the environment can't be used. {error}"
        ) from error
