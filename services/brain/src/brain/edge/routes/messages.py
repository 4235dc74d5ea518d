"""Messages to a session: send, list and withdraw those that wait. Below: the rpcs for these."""

from fastapi import APIRouter, Request, Response

from brain.edge import convert, models, views
from brain.edge.body import read_json, too_large
from brain.edge.deps import ContextDep
from brain.edge.idempotency import KEY, REPLAYED, idempotency_key, replayed
from brain.edge.openapi import Answer, documented
from brain.edge.query import ListMessagesQuery, NoQuery, read_query
from brain.edge.settings import EdgeSettings
from brain.edge.validation import validate
from brain_core.trace import valid_traceparent
from brainapi.session.v1 import session_service_pb2 as pb

router = APIRouter(prefix="/sessions/{session_id}/messages", tags=["messages"])

_OF_A_SESSION = (404,)
_TRACEPARENT = {
    "traceparent": {
        "description": "The W3C trace that the turn's tool calls will belong to.",
        "schema": {"type": "string"},
    }
}


@router.post(
    "",
    **documented(
        Answer(202, "The message is in the log.", views.AcceptedMessage, REPLAYED),
        body=models.SendMessage,
        problems=(*_OF_A_SESSION, 409),
        headers={**_TRACEPARENT, **KEY},
    ),
)
async def send_message(request: Request, session_id: str, context: ContextDep) -> Response:
    """Send a message. It starts a turn, or does what `delivery` says while one runs."""
    read_query(request, NoQuery)
    key = idempotency_key(request)
    engine = context.engine
    message = await _read_message(request, context.settings)
    rpc = pb.SendMessageRequest(
        tenant_id=context.tenant_id,
        session_id=session_id,
        content=convert.content_message(message.content),
        delivery=convert.DELIVERY[message.delivery],
        traceparent=_traceparent(request),
        idempotency_key=key,
    )
    sent = await engine.call(lambda to: to.SendMessage, rpc)
    view = views.AcceptedMessage(sent.message_id, sent.seq, sent.turn_id or None, sent.queued)
    return views.answer(view, 202, replayed(sent.replayed))


async def _read_message(request: Request, settings: EdgeSettings) -> models.SendMessage:
    """The message. Only one with an image may be larger than other bodies."""
    body = await read_json(request, settings.max_message_bytes)
    message = validate(models.SendMessage, body.value)
    if len(body.raw) > settings.max_body_bytes and not message.has_images:
        raise too_large(settings.max_body_bytes)
    return message


def _traceparent(request: Request) -> str:
    """The caller's trace; a header that isn't one is passed over, as W3C says."""
    given = request.headers.get("traceparent", "")
    return given if valid_traceparent(given) else ""


@router.get(
    "",
    **documented(
        Answer(200, "The queue, in order.", views.QueuedMessageList),
        query=ListMessagesQuery,
        problems=_OF_A_SESSION,
    ),
)
async def list_messages(request: Request, session_id: str, context: ContextDep) -> Response:
    """List the messages that wait for their turn."""
    read_query(request, ListMessagesQuery)
    engine = context.engine
    rpc = pb.ListQueuedMessagesRequest(tenant_id=context.tenant_id, session_id=session_id)
    queue = await engine.call(lambda to: to.ListQueuedMessages, rpc)
    waiting = [convert.queued_view(message) for message in queue.messages]
    return views.answer(views.QueuedMessageList(waiting))


@router.delete(
    "/{message_id}",
    **documented(Answer(204, "The message will not be delivered."), problems=_OF_A_SESSION),
)
async def withdraw_message(
    request: Request, session_id: str, message_id: str, context: ContextDep
) -> Response:
    """Withdraw a message that waits; 404 once it was delivered."""
    read_query(request, NoQuery)
    engine = context.engine
    rpc = pb.WithdrawMessageRequest(
        tenant_id=context.tenant_id, session_id=session_id, message_id=message_id
    )
    await engine.call(lambda to: to.WithdrawMessage, rpc)
    return Response(status_code=204)
