"""The engine's process: gRPC server, health, reflection, the engine's own housekeeping.

Above: `wiring`. Below: `servicer`.
"""

import asyncio
import contextlib
import hmac
import importlib
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias

import grpc
from grpc_health.v1 import health_pb2
from grpc_health.v1.health import SERVICE_NAME as HEALTH
from grpc_reflection.v1alpha import reflection
from msgspec import Struct

from brain.engine.housekeeping import Housekeeping, Times
from brain.engine.servicer import SessionServicer
from brain.engine.session.manager import SessionManager
from brain.engine.status import ErrorTranslation
from brain_core.clock import Clock
from brainapi.session.v1 import session_service_pb2
from brainapi.session.v1.session_service_pb2_grpc import add_SessionServiceServicer_to_server

_SERVICE = session_service_pb2.DESCRIPTOR.services_by_name["SessionService"].full_name
_MAX_REQUEST = 32 * 1024 * 1024
_OPTIONS = (
    ("grpc.max_receive_message_length", _MAX_REQUEST),
    # A page of events is bounded by itself, but for one large event; a queue is as long as it is.
    ("grpc.max_send_message_length", -1),
    ("grpc.so_reuseport", 0),
    # Edges ask every few seconds whether this machine is still there.
    ("grpc.http2.min_ping_interval_without_data_ms", 4_000),
    ("grpc.http2.max_ping_strikes", 0),
)
_LAST_ANSWERS_SECONDS = 5.0
"""How long calls that came before the engine was told to stop may take to be answered."""
_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any] | None"


class _Health(Protocol):
    """What is used of grpcio's asynchronous health servicer, which has no types."""

    async def set(self, service: str, status: int) -> None: ...

    async def enter_graceful_shutdown(self) -> None: ...


def _health_servicer() -> _Health:
    return importlib.import_module("grpc_health.v1.health").aio.HealthServicer()


def _add_health_servicer(servicer: _Health, server: grpc.aio.Server) -> None:
    stubs = importlib.import_module("grpc_health.v1.health_pb2_grpc")
    stubs.add_HealthServicer_to_server(servicer, server)


class EngineIdentity(Struct, frozen=True):
    """What the engine shows to be known by, for TLS: PEM."""

    certificate: bytes
    private_key: bytes


class EngineAddress(Struct, frozen=True):
    """Where the engine listens: `unix:PATH` or `HOST:PORT`, and the key that callers must have."""

    target: str
    key: str | None
    tls: EngineIdentity | None = None


class Engine:
    """A running engine."""

    def __init__(
        self,
        address: EngineAddress,
        servicer: SessionServicer,
        manager: SessionManager,
        times: Times,
        clock: Clock,
    ) -> None:
        self._servicer = servicer
        self._manager = manager
        self._times = times
        guards: list[grpc.aio.ServerInterceptor] = [ErrorTranslation()]
        if address.key:
            guards.insert(0, _KeyCheck(address.key))
        self._server = grpc.aio.server(interceptors=guards, options=_OPTIONS)
        add_SessionServiceServicer_to_server(servicer, self._server)
        self._health = _health_servicer()
        _add_health_servicer(self._health, self._server)
        names = (_SERVICE, HEALTH, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._server)
        self.port = self._listen(address)
        self._house = Housekeeping(manager, times, clock, self._tell_health)
        self._housekeeping: asyncio.Task[None] | None = None

    def _listen(self, address: EngineAddress) -> int:
        if address.tls is None:
            return self._server.add_insecure_port(address.target)
        pair = (address.tls.private_key, address.tls.certificate)
        return self._server.add_secure_port(address.target, grpc.ssl_server_credentials([pair]))

    async def start(self) -> None:
        """Take up the open sessions, then serve."""
        await self._manager.recover()
        await self._server.start()
        await self._tell_health()
        self._housekeeping = asyncio.create_task(self._house.run())

    async def stop(self) -> None:
        """Take no new calls, let tool calls end, then let go of the sessions as they stand."""
        await self._health.enter_graceful_shutdown()
        if self._housekeeping is not None:
            self._housekeeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._housekeeping
        grace = self._times.shutdown_grace
        stopping = asyncio.create_task(self._server.stop(grace + _LAST_ANSWERS_SECONDS))
        await self._manager.settle(grace)
        await self._manager.stop()
        self._servicer.end_watches()
        await stopping

    async def _tell_health(self) -> None:
        """Serving is what can take a message, and a message must be written."""
        status = health_pb2.HealthCheckResponse.SERVING
        if not await self._manager.log_is_usable():
            status = health_pb2.HealthCheckResponse.NOT_SERVING
        for name in ("", _SERVICE):
            await self._health.set(name, status)


class _KeyCheck(grpc.aio.ServerInterceptor):
    """Every call must carry `authorization: Bearer KEY`; health checks may go without."""

    def __init__(self, key: str) -> None:
        self._expected = f"Bearer {key}".encode()

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[_Handler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> _Handler:
        handler = await continuation(handler_call_details)
        if handler is None or handler_call_details.method.startswith("/grpc.health.v1."):
            return handler
        sent = dict(handler_call_details.invocation_metadata or ()).get("authorization", "")
        given = sent if isinstance(sent, bytes) else sent.encode()
        return handler if hmac.compare_digest(given, self._expected) else _refusal_like(handler)


def _refusal_like(handler: "grpc.RpcMethodHandler[Any, Any]") -> _Handler:
    """A handler of the same kind: one of another kind would wait for what never comes."""
    kinds = {
        (False, False): grpc.unary_unary_rpc_method_handler,
        (False, True): grpc.unary_stream_rpc_method_handler,
        (True, False): grpc.stream_unary_rpc_method_handler,
        (True, True): grpc.stream_stream_rpc_method_handler,
    }
    make: Any = kinds[handler.request_streaming, handler.response_streaming]
    return make(_unauthenticated, handler.request_deserializer, handler.response_serializer)


async def _unauthenticated(_request: object, context: "grpc.aio.ServicerContext[Any, Any]") -> None:
    await context.abort(grpc.StatusCode.UNAUTHENTICATED, "The engine's key is missing or wrong.")
