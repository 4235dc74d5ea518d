"""Each rpc to its command. Above: gRPC clients, such as the edge. Below: `session`."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, TypeAlias

import grpc
import structlog

from brain.engine import convert
from brain.engine.keyed import attempt_from_wire, replayed
from brain.engine.log.protocol import PAGE_BYTES, LogUnavailable
from brain.engine.session.commands import Commands
from brain.engine.session.fanout import Fanout
from brain.engine.session.manager import SessionManager
from brain.engine.session.refused import Refused
from brain.engine.session.waking import Elsewhere
from brain.engine.status import refuse
from brain.engine.tool.catalog import Binding, Catalog
from brain.engine.tool.inspection import Inspections
from brain.engine.watching import WatchStream
from brain_core.trace import valid_traceparent
from brainapi.session.v1 import session_pb2
from brainapi.session.v1 import session_service_pb2 as pb
from brainapi.session.v1.session_service_pb2_grpc import SessionServiceServicer

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_log = structlog.get_logger(__name__)
_DEFAULT_SESSIONS, _MAX_SESSIONS = 50, 200
_DEFAULT_EVENTS, _MAX_EVENTS = 200, 1000


class SessionServicer(SessionServiceServicer):
    """Implements `brainapi.session.v1.SessionService`."""

    def __init__(
        self,
        commands: Commands,
        manager: SessionManager,
        fanout: Fanout,
        catalog: Catalog,
        inspections: Inspections,
        offered: tuple[tuple[str, ...], tuple[str, ...]],
    ) -> None:
        self._commands = commands
        self._manager = manager
        self._fanout = fanout
        self._catalog = catalog
        self._inspections = inspections
        self._harnesses, self._models = offered
        self._watching: set[WatchStream] = set()

    async def GetCatalog(
        self, request: pb.GetCatalogRequest, context: _Context
    ) -> pb.GetCatalogResponse:
        tools = self._catalog.of_tenant(request.tenant_id)
        return pb.GetCatalogResponse(
            harnesses=self._harnesses, models=self._models, tools=[_tool(tool) for tool in tools]
        )

    async def CreateSession(
        self, request: pb.CreateSessionRequest, context: _Context
    ) -> pb.CreateSessionResponse:
        attempt = attempt_from_wire(request)
        record = await self._commands.create(
            request.tenant_id,
            request.harness,
            convert.config_from_wire(request.config),
            convert.metadata_from_wire(request.metadata_json),
            attempt,
        )
        if isinstance(record, Refused):
            await refuse(context, record)
        return pb.CreateSessionResponse(
            session=convert.session_to_wire(record), replayed=replayed(attempt)
        )

    async def GetSession(
        self, request: pb.GetSessionRequest, context: _Context
    ) -> pb.GetSessionResponse:
        record = await self._manager.get(request.tenant_id, request.session_id)
        if isinstance(record, Refused):
            await refuse(context, record)
        return pb.GetSessionResponse(session=convert.session_to_wire(record))

    async def ListSessions(
        self, request: pb.ListSessionsRequest, context: _Context
    ) -> pb.ListSessionsResponse:
        page = await self._manager.list_sessions(
            request.tenant_id,
            _bounded(request.limit, _DEFAULT_SESSIONS, _MAX_SESSIONS),
            request.cursor or None,
            convert.status_filter(request.status),
        )
        return pb.ListSessionsResponse(
            sessions=[convert.session_to_wire(record) for record in page.sessions],
            next_cursor=page.next_cursor or "",
        )

    async def CloseSession(
        self, request: pb.CloseSessionRequest, context: _Context
    ) -> pb.CloseSessionResponse:
        attempt = attempt_from_wire(request)
        record = await self._commands.close(request.tenant_id, request.session_id, attempt)
        if isinstance(record, Refused):
            await refuse(context, record)
        return pb.CloseSessionResponse(
            session=convert.session_to_wire(record), replayed=replayed(attempt)
        )

    async def DeleteSession(
        self, request: pb.DeleteSessionRequest, context: _Context
    ) -> pb.DeleteSessionResponse:
        refused = await self._commands.delete(request.tenant_id, request.session_id)
        if refused is not None:
            await refuse(context, refused)
        return pb.DeleteSessionResponse()

    async def SendMessage(
        self, request: pb.SendMessageRequest, context: _Context
    ) -> pb.SendMessageResponse:
        attempt = attempt_from_wire(request)
        accepted = await self._commands.send(
            request.tenant_id,
            request.session_id,
            convert.content_from_wire(request.content),
            convert.delivery_from_wire(request.delivery),
            request.traceparent if valid_traceparent(request.traceparent) else None,
            attempt,
        )
        if isinstance(accepted, Refused):
            await refuse(context, accepted)
        return pb.SendMessageResponse(
            message_id=accepted.message_id,
            seq=accepted.seq,
            turn_id=accepted.turn_id or "",
            queued=accepted.queued,
            replayed=replayed(attempt),
        )

    async def ListQueuedMessages(
        self, request: pb.ListQueuedMessagesRequest, context: _Context
    ) -> pb.ListQueuedMessagesResponse:
        queued = await self._commands.queued(request.tenant_id, request.session_id)
        if isinstance(queued, Refused):
            await refuse(context, queued)
        return pb.ListQueuedMessagesResponse(
            messages=[convert.queued_to_wire(message) for message in queued]
        )

    async def WithdrawMessage(
        self, request: pb.WithdrawMessageRequest, context: _Context
    ) -> pb.WithdrawMessageResponse:
        refused = await self._commands.withdraw(
            request.tenant_id, request.session_id, request.message_id
        )
        if refused is not None:
            await refuse(context, refused)
        return pb.WithdrawMessageResponse()

    async def InterruptTurn(
        self, request: pb.InterruptTurnRequest, context: _Context
    ) -> pb.InterruptTurnResponse:
        attempt = attempt_from_wire(request)
        done = await self._commands.interrupt(
            request.tenant_id,
            request.session_id,
            keep_queue=request.keep_queue,
            attempt=attempt,
        )
        if isinstance(done, Refused):
            await refuse(context, done)
        return pb.InterruptTurnResponse(
            interrupted=done.turn_id is not None,
            turn_id=done.turn_id or "",
            replayed=replayed(attempt),
        )

    async def CompactSession(
        self, request: pb.CompactSessionRequest, context: _Context
    ) -> pb.CompactSessionResponse:
        attempt = attempt_from_wire(request)
        compacted = await self._commands.compact(request.tenant_id, request.session_id, attempt)
        if isinstance(compacted, Refused):
            await refuse(context, compacted)
        return pb.CompactSessionResponse(
            tokens_before=compacted.tokens_before,
            tokens_after=compacted.tokens_after,
            replayed=replayed(attempt),
        )

    async def GetUsage(self, request: pb.GetUsageRequest, context: _Context) -> pb.GetUsageResponse:
        usage = await self._manager.usage(
            request.tenant_id, request.from_day or None, request.to_day or None
        )
        return pb.GetUsageResponse(usage=[convert.daily_usage_to_wire(each) for each in usage])

    async def ListEvents(
        self, request: pb.ListEventsRequest, context: _Context
    ) -> pb.ListEventsResponse:
        page = await self._manager.events(
            request.tenant_id,
            request.session_id,
            request.after,
            _bounded(request.limit, _DEFAULT_EVENTS, _MAX_EVENTS),
            _bounded(request.max_bytes, PAGE_BYTES, PAGE_BYTES),
        )
        if isinstance(page, Refused):
            await refuse(context, page)
        return pb.ListEventsResponse(
            events=[convert.stored_to_wire(event) for event in page.events], has_more=page.has_more
        )

    async def ResolveInspectionToken(
        self, request: pb.ResolveInspectionTokenRequest, context: _Context
    ) -> pb.ResolveInspectionTokenResponse:
        reads = self._inspections.resolve(request.inspection_token)
        if reads is None:
            await self._manager.raise_if_elsewhere(request.session_id)
            message = "The inspection token isn't valid, or its call has returned."
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, message)
        return pb.ResolveInspectionTokenResponse(tenant_id=reads[0], session_id=reads[1])

    async def WatchEvents(
        self, request_iterator: AsyncIterator[pb.WatchEventsRequest], context: _Context
    ) -> AsyncIterator[pb.WatchEventsResponse]:
        stream = WatchStream(self._fanout)
        self._watching.add(stream)
        reading = asyncio.create_task(self._read_watches(request_iterator, stream))
        try:
            async for batch in stream.batches():
                yield batch
        finally:
            self._watching.discard(stream)
            reading.cancel()
            stream.close()

    def end_watches(self) -> None:
        """End every watch stream once what was gathered is sent; readers come again elsewhere."""
        for stream in self._watching:
            stream.finish()

    async def _read_watches(
        self, requests: AsyncIterator[pb.WatchEventsRequest], stream: WatchStream
    ) -> None:
        try:
            async for request in requests:
                if request.HasField("subscribe"):
                    await self._subscribe(request.subscribe, stream)
                elif request.HasField("unsubscribe"):
                    stream.unsubscribe(request.unsubscribe.watch_id)
        except LogUnavailable as error:
            # The reader subscribes again, on a new stream, until the log is back.
            _log.error("watch_lost_its_log", error=str(error))
            stream.finish()
        except Exception:  # noqa: BLE001 - a stream that nobody reads from must not stay open
            _log.exception("watch_crashed")
            stream.finish()

    async def _subscribe(self, wanted: pb.Subscribe, stream: WatchStream) -> None:
        tenant_id, session_id = wanted.tenant_id, wanted.session_id
        try:
            position = await self._manager.position(tenant_id, session_id)
        except Elsewhere as owner:
            stream.redirect(wanted.watch_id, session_id, owner.address)
            return
        if isinstance(position, Refused):
            stream.refuse(wanted.watch_id, session_id)
            return
        stream.subscribe(wanted.watch_id, session_id, position)


def _tool(binding: Binding) -> session_pb2.CatalogTool:
    schema = binding.output_schema
    return session_pb2.CatalogTool(
        name=binding.name,
        description=binding.description,
        input_schema_json=bytes(binding.input_schema),
        output_schema_json=b"" if schema is None else bytes(schema),
    )


def _bounded(wanted: int, default: int, largest: int) -> int:
    return min(wanted, largest) if wanted > 0 else default
