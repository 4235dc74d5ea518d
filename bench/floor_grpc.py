"""A floor: a grpc.aio server that answers a unary call with its request. Above: `floors`."""

import sys
from typing import Any, TypeAlias

import grpc
import uvloop

SERVICE = "bench.Floor"
METHOD = f"/{SERVICE}/Echo"
_Handler: TypeAlias = "grpc.RpcMethodHandler[bytes, bytes]"


async def _echo(request: bytes, _: "grpc.aio.ServicerContext[Any, Any]") -> bytes:
    return request


async def serve(address: str) -> None:
    """Serve at this address until the process is ended."""
    echo: _Handler = grpc.unary_unary_rpc_method_handler(_echo)
    server = grpc.aio.server()
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, {"Echo": echo})])
    server.add_insecure_port(address)
    await server.start()
    await server.wait_for_termination()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1]))
