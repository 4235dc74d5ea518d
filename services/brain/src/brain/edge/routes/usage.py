"""What the caller's tenant has used. Below: the rpc GetUsage."""

from datetime import date

from fastapi import APIRouter, Request, Response

from brain.edge.convert import usage_list
from brain.edge.deps import ContextDep
from brain.edge.openapi import Answer, documented
from brain.edge.query import UsageQuery, read_query
from brain.edge.views import UsageList, answer
from brainapi.session.v1.session_service_pb2 import GetUsageRequest

router = APIRouter(tags=["usage"])


@router.get(
    "/usage",
    **documented(
        Answer(200, "Tokens and cost, by day and model, and their sum.", UsageList),
        query=UsageQuery,
    ),
)
async def get_usage(request: Request, context: ContextDep) -> Response:
    """Sum up what your tenant's model calls have used; sessions that were deleted count too."""
    query = read_query(request, UsageQuery)
    engine = context.engine
    rpc = GetUsageRequest(
        tenant_id=context.tenant_id, from_day=_day(query.from_day), to_day=_day(query.to_day)
    )
    return answer(usage_list(await engine.call(lambda to: to.GetUsage, rpc)))


def _day(day: date | None) -> str:
    return "" if day is None else day.isoformat()
