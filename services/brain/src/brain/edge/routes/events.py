"""A session's events, as a page or as a stream. Below: ListEvents, and `sse` with `watch`."""

from fastapi import APIRouter, Request, Response
from grpc.aio import AioRpcError

from brain.edge import auth
from brain.edge.accept import wants_event_stream
from brain.edge.convert import event_page
from brain.edge.deps import Context, ContextDep
from brain.edge.follower import Follower
from brain.edge.openapi import Answer, documented
from brain.edge.query import MAX_SEQ, EventsQuery, last_event_id, read_query
from brain.edge.sse import EventStream, StillAllowed, join
from brain.edge.views import EventPage
from brainapi.session.v1.session_service_pb2 import ListEventsRequest

router = APIRouter(prefix="/sessions/{session_id}/events", tags=["events"])

_HEADERS = {
    "Last-Event-ID": {
        "description": "Works like `after`, and wins over it.",
        "schema": {"type": "integer", "minimum": 0, "maximum": MAX_SEQ},
    },
}
_STREAM = {
    "text/event-stream": {
        "schema": {
            "type": "string",
            "description": "Frames of `id` (durable events only), `event` and `data`, an Event.",
        }
    }
}


@router.get(
    "",
    **documented(
        Answer(200, "A page; a stream if `Accept` prefers it.", EventPage, also=_STREAM),
        query=EventsQuery,
        problems=(404,),
        headers=_HEADERS,
    ),
)
async def list_events(request: Request, session_id: str, context: ContextDep) -> Response:
    """Read a session's events after a point, or follow them as server-sent events."""
    query = read_query(request, EventsQuery)
    resumed = last_event_id(request)
    after = query.after if resumed is None else resumed
    if wants_event_stream(",".join(request.headers.getlist("accept"))):
        return await _stream(context, session_id, after, until_idle=query.until == "idle")
    return await _page(context, session_id, after, query.limit)


async def _page(context: Context, session_id: str, after: int, limit: int) -> Response:
    engine = context.engine
    rpc = ListEventsRequest(
        tenant_id=context.tenant_id, session_id=session_id, after=after, limit=limit
    )
    page = await engine.call(lambda to: to.ListEvents, rpc)
    return Response(event_page(page, after), media_type="application/json")


async def _stream(
    context: Context, session_id: str, after: int, *, until_idle: bool
) -> EventStream:
    settings = context.settings
    follower = Follower(
        context.tenant_id,
        session_id,
        after=after,
        until_idle=until_idle,
        max_frames=settings.follower_max_frames,
        max_bytes=settings.follower_max_bytes,
    )
    standing = await join(context.watch, follower, settings.join_timeout_seconds)
    return EventStream(
        context.engine,
        context.watch,
        follower,
        standing,
        beat_seconds=_beat_seconds(context),
        still_allowed=_still_allowed(context, session_id),
    )


def _beat_seconds(context: Context) -> float:
    """A stream that hangs on a token beats faster, so that it ends soon after its token does."""
    settings = context.settings
    if context.caller.inspection_token is None:
        return settings.heartbeat_seconds
    return min(settings.heartbeat_seconds, settings.token_check_seconds)


def _still_allowed(context: Context, session_id: str) -> StillAllowed | None:
    token = context.caller.inspection_token
    if token is None:
        return None

    async def check() -> bool:
        try:
            return await auth.resolve(context.engine, token, session_id) is not None
        except AioRpcError:
            return True  # the engine is away: it will be asked again

    return check
