"""Sessions: create, list, read, interrupt, compact, close, delete. Below: rpcs of these names."""

from fastapi import APIRouter, Request, Response

from brain.edge import convert, models, views
from brain.edge.body import Body, read_json, read_optional_model
from brain.edge.deps import Context, ContextDep
from brain.edge.idempotency import KEY, REPLAYED, idempotency_key, replayed
from brain.edge.openapi import Answer, documented
from brain.edge.query import ListSessionsQuery, NoQuery, read_query
from brain.edge.validation import validate
from brainapi.session.v1 import session_pb2
from brainapi.session.v1 import session_service_pb2 as pb

router = APIRouter(prefix="/sessions", tags=["sessions"])

_LOCATION = {"Location": "The session's address."}
_OF_A_SESSION = (404,)


@router.post(
    "",
    **documented(
        Answer(201, "The session was made.", views.Session, {**_LOCATION, **REPLAYED}),
        body=models.CreateSession,
        problems=(409,),
        headers=KEY,
    ),
)
async def create_session(request: Request, context: ContextDep) -> Response:
    """Create a session."""
    read_query(request, NoQuery)
    key = idempotency_key(request)
    engine = context.engine
    body = await read_json(request, context.settings.max_body_bytes)
    rpc = _create_request(body, context, key)
    answer = await engine.call(lambda to: to.CreateSession, rpc)
    made = answer.session
    location = f"{context.settings.public_url.rstrip('/')}/sessions/{made.id}"
    return views.answer(
        convert.session_view(made), 201, {"Location": location, **replayed(answer.replayed)}
    )


def _create_request(body: Body, context: Context, key: str) -> pb.CreateSessionRequest:
    wanted = validate(models.CreateSession, body.value)
    return pb.CreateSessionRequest(
        tenant_id=context.tenant_id,
        harness=wanted.harness,
        config=convert.config_message(wanted.config),
        metadata_json=convert.metadata_json(body.raw, context.settings.max_metadata_bytes),
        idempotency_key=key,
    )


@router.get(
    "",
    **documented(
        Answer(200, "A page of sessions, newest first.", views.SessionList),
        query=ListSessionsQuery,
    ),
)
async def list_sessions(request: Request, context: ContextDep) -> Response:
    """List your tenant's sessions."""
    query = read_query(request, ListSessionsQuery)
    engine = context.engine
    status = session_pb2.SESSION_STATUS_UNSPECIFIED
    rpc = pb.ListSessionsRequest(
        tenant_id=context.tenant_id,
        limit=query.limit,
        cursor=query.cursor or "",
        status=convert.STATUS[query.status] if query.status else status,
    )
    page = await engine.call(lambda to: to.ListSessions, rpc)
    sessions = [convert.session_view(session) for session in page.sessions]
    return views.answer(views.SessionList(sessions, page.next_cursor or None))


@router.get(
    "/{session_id}",
    **documented(Answer(200, "The session.", views.Session), problems=_OF_A_SESSION),
)
async def get_session(request: Request, session_id: str, context: ContextDep) -> Response:
    """Read a session. An inspection token may do this too."""
    read_query(request, NoQuery)
    engine = context.engine
    rpc = pb.GetSessionRequest(tenant_id=context.tenant_id, session_id=session_id)
    found = await engine.call(lambda to: to.GetSession, rpc)
    return views.answer(convert.session_view(found.session))


@router.post(
    "/{session_id}/interrupt",
    **documented(
        Answer(200, "No turn runs any more.", views.Interrupted, REPLAYED),
        body=models.Interrupt,
        body_required=False,
        problems=(*_OF_A_SESSION, 409),
        headers=KEY,
    ),
)
async def interrupt_session(request: Request, session_id: str, context: ContextDep) -> Response:
    """End the running turn; answers once it has ended."""
    read_query(request, NoQuery)
    key = idempotency_key(request)
    engine = context.engine
    wanted = await read_optional_model(request, models.Interrupt, context.settings.max_body_bytes)
    rpc = pb.InterruptTurnRequest(
        tenant_id=context.tenant_id,
        session_id=session_id,
        keep_queue=wanted.keep_queue,
        idempotency_key=key,
    )
    done = await engine.call(
        lambda to: to.InterruptTurn, rpc, context.settings.turn_end_timeout_seconds
    )
    view = views.Interrupted(done.interrupted, done.turn_id or None)
    return views.answer(view, headers=replayed(done.replayed))


@router.post(
    "/{session_id}/compact",
    **documented(
        Answer(200, "The model's context is shorter.", views.Compacted, REPLAYED),
        body=models.Compact,
        body_required=False,
        problems=(*_OF_A_SESSION, 409),
        headers=KEY,
    ),
)
async def compact_session(request: Request, session_id: str, context: ContextDep) -> Response:
    """Summarise the older part of what the model is told; answers once that is done."""
    read_query(request, NoQuery)
    key = idempotency_key(request)
    engine = context.engine
    await read_optional_model(request, models.Compact, context.settings.max_body_bytes)
    rpc = pb.CompactSessionRequest(
        tenant_id=context.tenant_id, session_id=session_id, idempotency_key=key
    )
    done = await engine.call(
        lambda to: to.CompactSession, rpc, context.settings.compaction_timeout_seconds
    )
    view = views.Compacted(done.tokens_before, done.tokens_after)
    return views.answer(view, headers=replayed(done.replayed))


@router.post(
    "/{session_id}/close",
    **documented(
        Answer(200, "The session is closed.", views.Session, REPLAYED),
        body=models.Close,
        body_required=False,
        problems=(*_OF_A_SESSION, 409),
        headers=KEY,
    ),
)
async def close_session(request: Request, session_id: str, context: ContextDep) -> Response:
    """End the running turn, then the session. Doing it again gives the same answer."""
    read_query(request, NoQuery)
    key = idempotency_key(request)
    engine = context.engine
    await read_optional_model(request, models.Close, context.settings.max_body_bytes)
    rpc = pb.CloseSessionRequest(
        tenant_id=context.tenant_id, session_id=session_id, idempotency_key=key
    )
    done = await engine.call(
        lambda to: to.CloseSession, rpc, context.settings.turn_end_timeout_seconds
    )
    return views.answer(convert.session_view(done.session), headers=replayed(done.replayed))


@router.delete(
    "/{session_id}",
    **documented(Answer(204, "The session is gone."), problems=_OF_A_SESSION),
)
async def delete_session(request: Request, session_id: str, context: ContextDep) -> Response:
    """Close a session, then erase it and its events."""
    read_query(request, NoQuery)
    engine = context.engine
    rpc = pb.DeleteSessionRequest(tenant_id=context.tenant_id, session_id=session_id)
    await engine.call(lambda to: to.DeleteSession, rpc, context.settings.turn_end_timeout_seconds)
    return Response(status_code=204)
