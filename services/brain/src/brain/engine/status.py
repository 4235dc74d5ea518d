"""Why a call failed, as gRPC says it: the one place where that is decided. Above: `servicer`."""

from collections.abc import Awaitable, Callable
from typing import Any, NoReturn, TypeAlias, cast

import grpc
import structlog

from brain.engine.convert import Malformed
from brain.engine.log.protocol import LogUnavailable, StaleOwner
from brain.engine.session.refused import Refused
from brain.engine.session.waking import Elsewhere
from brainapi.session.v1 import session_pb2 as pb

_log = structlog.get_logger(__name__)
_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any] | None"

ERROR_METADATA = "brain-error-bin"
OWNER_METADATA = "brain-owner"
"""Where the caller should ask instead: nothing was done here."""
_CODES = {
    "not_found": grpc.StatusCode.NOT_FOUND,
    "conflict": grpc.StatusCode.FAILED_PRECONDITION,
    "invalid": grpc.StatusCode.INVALID_ARGUMENT,
}


async def refuse(context: _Context, refused: Refused) -> NoReturn:
    """End the call with what was refused, and why."""
    detail = pb.ErrorDetail(
        code=refused.code,
        violations=[pb.Violation(pointer=v.pointer, detail=v.detail) for v in refused.violations],
    )
    trailer = ((ERROR_METADATA, detail.SerializeToString()),)
    await context.abort(_CODES[refused.kind], refused.message, trailer)


class ErrorTranslation(grpc.aio.ServerInterceptor):
    """Turns what a unary method raises into a status that tells no secrets."""

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[_Handler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> _Handler:
        handler = await continuation(handler_call_details)
        if handler is None or handler.unary_unary is None:
            return handler
        method = cast("Callable[[Any, _Context], Awaitable[Any]]", handler.unary_unary)
        name = handler_call_details.method

        async def guarded(request: object, context: _Context) -> object:
            try:
                return await method(request, context)
            except grpc.aio.AbortError:
                raise
            except Exception as error:  # noqa: BLE001 - nothing may leave untranslated
                return await _translate(error, name, context)

        return grpc.unary_unary_rpc_method_handler(
            guarded, handler.request_deserializer, handler.response_serializer
        )


async def _translate(error: Exception, method: str, context: _Context) -> NoReturn:
    if isinstance(error, Malformed):
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
    if isinstance(error, Elsewhere):
        trailer = ((OWNER_METADATA, error.address),)
        await context.abort(grpc.StatusCode.UNAVAILABLE, "Another engine has the session.", trailer)
    if isinstance(error, LogUnavailable | StaleOwner):
        _log.error("log_unavailable", method=method, error=str(error))
        await context.abort(grpc.StatusCode.UNAVAILABLE, "The event log can't be used now.")
    _log.error("rpc_crashed", method=method, exc_info=error)
    await context.abort(grpc.StatusCode.INTERNAL, "Something went wrong inside Brain.")
