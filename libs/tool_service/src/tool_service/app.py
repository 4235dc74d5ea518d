"""The HTTP side of a tool service: who may call, what is a call. Above: `service`. Below: `answer`.

Refusals here are of requests that Brain doesn't make: what a tool refuses is a result.
"""

import asyncio
import hmac
from collections import OrderedDict
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from tool_service.answer import Answer, Pace
from tool_service.call import BadCall, Envelope, read_call
from tool_service.metrics import Metrics
from tool_service.result import encode, failure
from tool_service.tool import Opened, Tool


class Limits(Struct, frozen=True):
    """What a service takes at most: bytes of a body, seconds to send it, calls at a time.

    Of the calls that ended, the ids of the last `remembered` are known, to refuse them again.
    """

    body_bytes: int = 8 * 1024 * 1024
    body_seconds: float = 30.0
    running: int = 1000
    remembered: int = 100_000


def create_app(
    tools: Mapping[str, Tool],
    opened: Opened,
    token: str | None,
    metrics: Metrics,
    *,
    pace: Pace,
    limits: Limits,
    routes: Sequence[BaseRoute] = (),
) -> Starlette:
    """The service's routes. With no token, anyone who reaches it may call."""
    calls = _Calls(tools, opened, token, metrics, pace, limits)
    return Starlette(
        routes=[
            Route("/healthz", _healthz, methods=["GET"]),
            Route("/tools/{name}", calls.handle, methods=["POST"]),
            *routes,
        ]
    )


async def _healthz(_request: Request) -> Response:
    return Response(b'{"status":"ok"}', media_type="application/json")


class _Refused(Exception):
    """The request isn't a call to run. `reason` is a word for the metrics."""

    def __init__(self, status: int, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.reason = reason


class _Calls:
    """Answers calls, each call id once."""

    def __init__(
        self,
        tools: Mapping[str, Tool],
        opened: Opened,
        token: str | None,
        metrics: Metrics,
        pace: Pace,
        limits: Limits,
    ) -> None:
        self._tools = tools
        self._opened = opened
        self._expected = None if token is None else f"Bearer {token}".encode()
        self._metrics = metrics
        self._pace = pace
        self._limits = limits
        self._running = 0
        self._seen: OrderedDict[str, None] = OrderedDict()

    async def handle(self, request: Request) -> Response:
        try:
            return await self._begin(request)
        except _Refused as refused:
            self._metrics.refused.labels(refused.reason).inc()
            return Response(
                msgspec.json.encode({"detail": str(refused)}),
                status_code=refused.status,
                media_type="application/json",
            )

    async def _begin(self, request: Request) -> Response:
        if not self._allowed(request):
            raise _Refused(401, "token", "The bearer token is missing or wrong.")
        tool = self._tools.get(request.path_params["name"])
        if tool is None:
            raise _Refused(404, "tool", "There is no such tool here.")
        if (
            request.headers.get("content-type", "").split(";")[0].strip().lower()
            != "application/json"
        ):
            # A page in a browser may post other types anywhere without asking first.
            raise _Refused(415, "media_type", "A call is sent as application/json.")
        return self._answer(tool, await self._read(request), request.headers.get("traceparent"))

    def _answer(self, tool: Tool, envelope: Envelope, traceparent: str | None) -> Response:
        if envelope.call_id in self._seen:
            raise _Refused(409, "repeated", "This call was delivered before; a call is done once.")
        if self._running >= self._limits.running:
            self._metrics.refused.labels("busy").inc()
            busy = failure("The tool service is busy. Nothing was done; try again later.")
            return Response(encode(busy), media_type="application/json")
        self._remember(envelope.call_id)
        self._running += 1
        return Answer(
            tool, envelope, self._opened, self._metrics, self._pace, traceparent, self._ended
        )

    def _ended(self) -> None:
        self._running -= 1

    def _allowed(self, request: Request) -> bool:
        if self._expected is None:
            return True
        given = request.headers.get("authorization", "").encode("latin-1")
        return hmac.compare_digest(given, self._expected)

    def _remember(self, call_id: str) -> None:
        self._seen[call_id] = None
        if len(self._seen) > self._limits.remembered:
            self._seen.popitem(last=False)

    async def _read(self, request: Request) -> Envelope:
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                return read_call(await self._body(request))
        except TimeoutError:
            raise _Refused(408, "slow", "The body took too long.") from None
        except (BadCall, ClientDisconnect) as error:
            raise _Refused(400, "body", str(error)) from error

    async def _body(self, request: Request) -> bytes:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > self._limits.body_bytes:
                most = self._limits.body_bytes
                raise _Refused(413, "too_large", f"The body has more than {most} bytes.")
        return bytes(body)
