"""The way down to the engine: one gRPC channel.

Above: routes, `auth` and `watch`. Below: brainapi's stubs. Failures are `AioRpcError`, which
`errors` translates.
"""

from typing import TYPE_CHECKING, TypeVar

import grpc.aio
from google.protobuf.message import Message
from grpc.aio import AioRpcError, Metadata, UnaryUnaryMultiCallable
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from brainapi.session.v1.session_service_pb2_grpc import SessionServiceStub

if TYPE_CHECKING:  # a class of the type stubs only
    from brainapi.session.v1.session_service_pb2_grpc import SessionServiceAsyncStub

_Request = TypeVar("_Request", bound=Message)
_Response = TypeVar("_Response", bound=Message)

_OPTIONS = (
    # The engine is ours and bounds its pages itself; one event may be larger than the default.
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # An engine that comes back is found within a second; gRPC's own default waits for minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    # Despite its name, how long an attempt may take: on a busy machine 100 ms are soon over.
    ("grpc.min_reconnect_backoff_ms", 5000),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_retries", 0),
)


class EngineClient:
    """Calls the engine. Made inside a running event loop, closed with `close`."""

    def __init__(self, target: str, key: str | None, timeout_seconds: float) -> None:
        self._channel = grpc.aio.insecure_channel(target, options=_OPTIONS)
        self._timeout = timeout_seconds
        self._health = self._channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=HealthCheckRequest.SerializeToString,
            response_deserializer=HealthCheckResponse.FromString,
        )
        self.stub: SessionServiceAsyncStub = SessionServiceStub(self._channel)
        self.metadata = Metadata(("authorization", f"Bearer {key}")) if key else Metadata()

    async def call(
        self,
        method: UnaryUnaryMultiCallable[_Request, _Response],
        request: _Request,
        timeout: float | None = None,
    ) -> _Response:
        """The answer to one rpc. Fails at once while the engine is away. Raises: AioRpcError."""
        deadline = self._timeout if timeout is None else timeout
        return await method(request, timeout=deadline, metadata=self.metadata)

    async def serving(self) -> bool:
        """Whether the engine says that it can do its work."""
        try:
            answer = await self.call(self._health, HealthCheckRequest())
        except AioRpcError:
            return False
        return answer.status == HealthCheckResponse.SERVING

    async def close(self) -> None:
        """Let go of the channel; calls that run end with it."""
        await self._channel.close()
