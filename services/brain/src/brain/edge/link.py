"""One gRPC channel to an engine, or to several behind one name. Above: `engine_client`, `watch`."""

from typing import TYPE_CHECKING, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import Message
from grpc.aio import Metadata, UnaryUnaryMultiCallable
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from brain.edge.settings import EngineTls
from brainapi.session.v1.session_service_pb2_grpc import SessionServiceStub

if TYPE_CHECKING:  # a class of the type stubs only
    from brainapi.session.v1.session_service_pb2_grpc import SessionServiceAsyncStub

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)

_ROUND_ROBIN = '{"loadBalancingConfig":[{"round_robin":{}}]}'
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
    # A name may stand for several engines: all of them are to have work.
    ("grpc.service_config", _ROUND_ROBIN),
    # Another machine may vanish without a word, or stand still. Asked this often, it is known to be
    # gone within 9 s, about when another engine takes its sessions over. (gRPC waits for the longer
    # of both timeouts, and the one that it doesn't call keepalive is a minute by itself.)
    ("grpc.keepalive_time_ms", 5_000),
    ("grpc.keepalive_timeout_ms", 4_000),
    ("grpc.http2.ping_timeout_ms", 4_000),
    ("grpc.http2.max_pings_without_data", 0),
)


class Link:
    """A channel and what can be called over it. Made inside a running event loop."""

    def __init__(self, target: str, metadata: Metadata, tls: EngineTls | None) -> None:
        self.target = target
        self.metadata = metadata
        self._channel = _channel(target, tls)
        self._health = self._channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=HealthCheckRequest.SerializeToString,
            response_deserializer=HealthCheckResponse.FromString,
        )
        self.stub: SessionServiceAsyncStub = SessionServiceStub(self._channel)

    @property
    def connected(self) -> bool:
        """Whether a call would go out at once. If not, a connection is being made."""
        state = self._channel.get_state(try_to_connect=True)
        return state is grpc.ChannelConnectivity.READY

    async def call(
        self,
        method: UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        timeout: float,
    ) -> Response:
        """The answer to one rpc. Fails at once while nobody is there. Raises: AioRpcError."""
        return await method(request, timeout=timeout, metadata=self.metadata)

    async def serving(self, timeout: float) -> bool:
        """Whether it says that it can do its work. Raises: AioRpcError."""
        answer = await self.call(self._health, HealthCheckRequest(), timeout)
        return answer.status == HealthCheckResponse.SERVING

    async def close(self) -> None:
        """Let go of the channel; calls that run end with it."""
        await self._channel.close()


def _channel(target: str, tls: EngineTls | None) -> grpc.aio.Channel:
    if tls is None or target.startswith("unix:"):
        return grpc.aio.insecure_channel(target, options=_OPTIONS)
    options = list(_OPTIONS)
    if tls.name is not None:
        options.append(("grpc.ssl_target_name_override", tls.name))
    credentials = grpc.ssl_channel_credentials(root_certificates=tls.authority)
    return grpc.aio.secure_channel(target, credentials, options=options)
