"""The approvals of `local_tools`, in the test's own process: asked as Brain does, on real HTTP.

Above: tests of approvals, with a browser and without. Below: `local_tools`, httpx2.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import httpx2
import pytest

from brain_testing.manual_clock import ManualClock
from local_tools.service import make_service

Json = dict[str, Any]

TOOLS_TOKEN = "the-token-of-the-local-tools"
OPERATOR_KEYS = {"ada": "the-key-of-ada-lovelace", "bob": "the-key-of-bob-kahn-too"}
SESSION = "ses_06h32f3kglu8hbgrnfjkb2k1v0"
_PATIENCE_SECONDS = 20


class InboxService:
    """The running service: its address, its clock, and how to stop it."""

    def __init__(self, data: Path) -> None:
        self.clock = ManualClock()
        self.url = ""
        self.data = data
        self.keys = dict(OPERATOR_KEYS)
        self._stack = AsyncExitStack()

    async def start(self) -> None:
        """Start it, at the address that it had before."""
        keys = ",".join(f"{name}={key}" for name, key in self.keys.items())
        service = make_service({"APPROVALS_KEYS": keys}, self.clock)
        port = int(self.url.rpartition(":")[2] or 0)
        running = service.running(TOOLS_TOKEN, data=self.data, port=port)
        self.url = await self._stack.enter_async_context(running)

    async def stop(self) -> None:
        await self._stack.aclose()

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    @property
    def tools(self) -> list[Json]:
        """Its bindings for Brain's host config, of which `TOOLS_TOKEN` is the token."""
        return make_service({}).bindings(self.url)


class Asked:
    """A call of `request_approval` that waits for its answer."""

    def __init__(self, call_id: str, stack: AsyncExitStack, answer: httpx2.Response) -> None:
        self.call_id = call_id
        self._stack = stack
        self._chunks = answer.aiter_text()
        self._said = ""

    async def until(self, text: str) -> str:
        """All that it has streamed, once that has this text in it."""
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while text not in self._said:
                self._said += await anext(self._chunks)
        return self._said

    async def result(self) -> str:
        """Its result event's data."""
        said = await self.until("event: result")
        return said.partition("event: result\ndata: ")[2].strip()

    async def interrupt(self) -> None:
        """Drop the connection, as Brain does."""
        await self._stack.aclose()


class Ask(Protocol):
    """Asks for approval as Brain would; gives the call once operators can see it."""

    def __call__(
        self,
        action: str,
        details: str = "",
        *,
        tenant: str = "local",
        session: str = SESSION,
        call_id: str | None = None,
        **more: Any,
    ) -> Awaitable[Asked]: ...


@pytest.fixture
async def inbox(tmp_path: Path) -> AsyncIterator[InboxService]:
    """The service, with two operators."""
    service = InboxService(tmp_path / "data")
    await service.start()
    yield service
    await service.stop()


@pytest.fixture
async def ask(inbox: InboxService) -> AsyncIterator[Ask]:
    """Asks for approval at that service."""
    async with _asking(inbox.url) as make:
        yield make


@pytest.fixture
async def operator(inbox: InboxService) -> AsyncIterator[Callable[[str], httpx2.AsyncClient]]:
    """An operator's own client: `operator("ada")`."""
    async with AsyncExitStack() as stack:

        def client(name: str) -> httpx2.AsyncClient:
            key = {"Authorization": f"Bearer {inbox.keys[name]}"}
            http = httpx2.AsyncClient(base_url=inbox.url, headers=key, timeout=20, trust_env=False)
            stack.push_async_callback(http.aclose)
            return http

        yield client


@asynccontextmanager
async def _asking(url: str) -> AsyncGenerator[Ask]:
    made: list[Asked] = []  # a stream that nobody holds is closed
    async with AsyncExitStack() as stack:
        headers = {"Authorization": f"Bearer {TOOLS_TOKEN}"}
        http = httpx2.AsyncClient(base_url=url, headers=headers, timeout=30, trust_env=False)
        await stack.enter_async_context(http)

        async def ask(
            action: str,
            details: str = "",
            *,
            tenant: str = "local",
            session: str = SESSION,
            call_id: str | None = None,
            **more: Any,
        ) -> Asked:
            call_id = call_id or f"call_06h32f3kihq7939lvgq6v3hv{len(made):02}"
            body = {
                "tenant_id": tenant,
                "session_id": session,
                "call_id": call_id,
                "arguments": {"action": action, "details": details, **more},
            }
            own = await stack.enter_async_context(AsyncExitStack())
            request = http.stream("POST", "/tools/request_approval", json=body)
            made.append(Asked(call_id, own, await own.enter_async_context(request)))
            await made[-1].until('data: {"status":"waiting_for_operator"}')
            return made[-1]

        yield ask
