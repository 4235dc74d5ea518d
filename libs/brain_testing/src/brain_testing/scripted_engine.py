# ruff: noqa: N802 - the methods have the names of their rpcs
"""An engine whose every move a test decides, behind a real edge.

It stands for what a real engine can't be made to do on demand: a gap in the stream, a session
that moves, an answer that never comes, a status code out of the blue. Above: `scripted_brain`.
Below: brainapi's service.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, NoReturn

import grpc
from google.protobuf.message import Message

from brainapi.event.v1.event_pb2 import Event
from brainapi.session.v1 import session_pb2
from brainapi.session.v1 import session_service_pb2 as pb
from brainapi.session.v1.session_service_pb2_grpc import (
    SessionServiceServicer,
)

_Context = grpc.aio.ServicerContext[Any, Any]
_WAIT_SECONDS = 10.0


class ScriptedEngine(SessionServiceServicer):
    """Holds logs in memory; sends on its watch streams what it is told to.

    `answers` overrides an rpc by name: a message to return, or a status code to fail with.
    `requests` and `metadata` are what came in. While `deaf`, it answers no subscription.
    """

    def __init__(self) -> None:
        self.answers: dict[str, Message | grpc.StatusCode] = {}
        self.trailers: tuple[tuple[str, bytes], ...] = ()
        self.requests: list[Message] = []
        self.metadata: dict[str, dict[str, str | bytes]] = {}
        self.logs: dict[str, list[Event]] = {}
        self.tokens: dict[str, tuple[str, str]] = {}
        self.status = session_pb2.SESSION_STATUS_RUNNING
        self.idle = False
        self.deaf = False
        self.streams: list[_Stream] = []
        self._changed = asyncio.Condition()

    # What a test does.

    def reset(self) -> None:
        """Forget everything but the open streams."""
        for part in (self.answers, self.requests, self.metadata, self.logs, self.tokens):
            part.clear()
        self.trailers = ()
        self.status, self.idle, self.deaf = session_pb2.SESSION_STATUS_RUNNING, False, False

    def add(self, session_id: str, events: int = 1) -> None:
        """A session with this many durable events."""
        self.logs[session_id] = []
        for _ in range(events):
            self.append(session_id)

    def append(self, session_id: str, *, idle: bool = False, size: int = 0) -> Event:
        """A durable event, in the log only."""
        seq = len(self.logs[session_id]) + 1
        event = _event(session_id, "test.durable", seq, size)
        event.idle = idle
        self.logs[session_id].append(event)
        return event

    async def publish(self, session_id: str, *, idle: bool = False, size: int = 0) -> None:
        """A durable event, in the log and on the stream."""
        event = self.append(session_id, idle=idle, size=size)
        await self.send(pb.WatchItem(session_id=session_id, event=event))

    async def publish_live(self, session_id: str, size: int = 0) -> None:
        """A live-only event."""
        event = _event(session_id, "test.live", 0, size)
        await self.send(pb.WatchItem(session_id=session_id, event=event))

    async def send(self, *items: pb.WatchItem) -> None:
        """One message on every open stream."""
        for stream in self.streams:
            await stream.out.put(pb.WatchEventsResponse(items=items))

    async def gap(self, session_id: str) -> None:
        await self.send(pb.WatchItem(session_id=session_id, gap=pb.Gap()))

    async def ended(self, session_id: str, reason: pb.EndReason.ValueType) -> None:
        await self.send(pb.WatchItem(session_id=session_id, ended=pb.Ended(reason=reason)))

    async def break_streams(self) -> None:
        """End every open stream, as a dying engine does."""
        for stream in self.streams:
            await stream.out.put(None)
        self.streams.clear()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something came in that makes `holds` true."""
        async with asyncio.timeout(_WAIT_SECONDS), self._changed:
            await self._changed.wait_for(holds)

    def asked(self, kind: type[Message]) -> int:
        """How many requests of a kind came in."""
        return sum(isinstance(request, kind) for request in self.requests)

    # What the edge calls.

    async def GetCatalog(self, request: pb.GetCatalogRequest, context: _Context) -> Any:
        return await self._answer(request, context, pb.GetCatalogResponse())

    async def CreateSession(self, request: pb.CreateSessionRequest, context: _Context) -> Any:
        session = session_pb2.Session(
            id="ses_new", tenant_id=request.tenant_id, config=request.config, status=self.status
        )
        session.metadata_json = request.metadata_json
        return await self._answer(request, context, pb.CreateSessionResponse(session=session))

    async def GetSession(self, request: pb.GetSessionRequest, context: _Context) -> Any:
        session = session_pb2.Session(id=request.session_id, status=self.status)
        return await self._answer(request, context, pb.GetSessionResponse(session=session))

    async def ListSessions(self, request: pb.ListSessionsRequest, context: _Context) -> Any:
        return await self._answer(request, context, pb.ListSessionsResponse())

    async def CloseSession(self, request: pb.CloseSessionRequest, context: _Context) -> Any:
        session = session_pb2.Session(id=request.session_id, status=self.status)
        return await self._answer(request, context, pb.CloseSessionResponse(session=session))

    async def DeleteSession(self, request: pb.DeleteSessionRequest, context: _Context) -> Any:
        return await self._answer(request, context, pb.DeleteSessionResponse())

    async def SendMessage(self, request: pb.SendMessageRequest, context: _Context) -> Any:
        return await self._answer(request, context, pb.SendMessageResponse(message_id="msg_1"))

    async def ListQueuedMessages(
        self, request: pb.ListQueuedMessagesRequest, context: _Context
    ) -> Any:
        return await self._answer(request, context, pb.ListQueuedMessagesResponse())

    async def WithdrawMessage(self, request: pb.WithdrawMessageRequest, context: _Context) -> Any:
        return await self._answer(request, context, pb.WithdrawMessageResponse())

    async def InterruptTurn(self, request: pb.InterruptTurnRequest, context: _Context) -> Any:
        return await self._answer(request, context, pb.InterruptTurnResponse())

    async def CompactSession(self, request: pb.CompactSessionRequest, context: _Context) -> Any:
        return await self._answer(request, context, pb.CompactSessionResponse())

    async def GetUsage(self, request: pb.GetUsageRequest, context: _Context) -> Any:
        return await self._answer(request, context, pb.GetUsageResponse())

    async def ListEvents(self, request: pb.ListEventsRequest, context: _Context) -> Any:
        if request.session_id not in self.logs:
            await context.abort(grpc.StatusCode.NOT_FOUND)
        rest = [e for e in self.logs[request.session_id] if e.seq > request.after]
        page = pb.ListEventsResponse(
            events=rest[: request.limit], has_more=len(rest) > request.limit
        )
        return await self._answer(request, context, page)

    async def ResolveInspectionToken(
        self, request: pb.ResolveInspectionTokenRequest, context: _Context
    ) -> Any:
        found = self.tokens.get(request.inspection_token)
        if found is None:
            await context.abort(grpc.StatusCode.UNAUTHENTICATED)
        tenant_id, session_id = found
        answer = pb.ResolveInspectionTokenResponse(tenant_id=tenant_id, session_id=session_id)
        return await self._answer(request, context, answer)

    async def WatchEvents(
        self,
        request_iterator: AsyncIterator[pb.WatchEventsRequest],
        context: _Context,  # noqa: ARG002
    ) -> AsyncIterator[pb.WatchEventsResponse]:
        stream = _Stream()
        self.streams.append(stream)
        reading = asyncio.create_task(self._read(request_iterator, stream))
        try:
            while (response := await stream.out.get()) is not None:
                yield response
        finally:
            reading.cancel()

    async def _read(
        self, requests: AsyncIterator[pb.WatchEventsRequest], stream: "_Stream"
    ) -> None:
        async for request in requests:
            if request.HasField("subscribe") and not self.deaf:
                item = self._standing(request.subscribe)
                await stream.out.put(pb.WatchEventsResponse(items=[item]))
            await self._note(request)

    def _standing(self, wanted: pb.Subscribe) -> pb.WatchItem:
        log = self.logs.get(wanted.session_id)
        if log is None:
            reason = pb.END_REASON_NOT_FOUND
            ended = pb.Ended(watch_id=wanted.watch_id, reason=reason)
            return pb.WatchItem(session_id=wanted.session_id, ended=ended)
        subscribed = pb.Subscribed(
            watch_id=wanted.watch_id, status=self.status, last_seq=len(log), idle=self.idle
        )
        return pb.WatchItem(session_id=wanted.session_id, subscribed=subscribed)

    async def _note(self, request: Message) -> None:
        async with self._changed:
            self.requests.append(request)
            self._changed.notify_all()

    async def _answer(self, request: Message, context: _Context, usual: Message) -> Any:
        await self._note(request)
        name = type(request).__name__.removesuffix("Request")
        self.metadata[name] = dict(context.invocation_metadata() or ())
        answer = self.answers.get(name, usual)
        if isinstance(answer, grpc.StatusCode):
            await _abort(context, answer, self.trailers)
        return answer


class _Stream:
    def __init__(self) -> None:
        self.out: asyncio.Queue[pb.WatchEventsResponse | None] = asyncio.Queue()


async def _abort(
    context: _Context, code: grpc.StatusCode, trailers: tuple[tuple[str, bytes], ...]
) -> NoReturn:
    await context.abort(code, "Said by the engine.", trailers)


def _event(session_id: str, kind: str, seq: int, size: int) -> Event:
    envelope = {"type": kind, "session_id": session_id, "data": {"pad": "x" * size}}
    if seq:
        envelope = {"seq": seq, **envelope}
    body = json.dumps(envelope, separators=(",", ":")).encode()
    return Event(seq=seq, type=kind, json=body)
