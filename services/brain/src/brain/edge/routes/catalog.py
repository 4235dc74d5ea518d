"""What the caller's tenant may use. Below: the rpc GetCatalog."""

from fastapi import APIRouter, Request, Response

from brain.edge.convert import catalog_view
from brain.edge.deps import ContextDep
from brain.edge.openapi import Answer, documented
from brain.edge.query import NoQuery, read_query
from brain.edge.views import Catalog, answer
from brainapi.session.v1.session_service_pb2 import GetCatalogRequest

router = APIRouter(tags=["catalog"])


@router.get(
    "/catalog",
    **documented(Answer(200, "Harnesses, models and tools.", Catalog)),
)
async def get_catalog(request: Request, context: ContextDep) -> Response:
    """List the harnesses, models and tools that your tenant may use."""
    read_query(request, NoQuery)
    engine = context.engine
    rpc = GetCatalogRequest(tenant_id=context.tenant_id)
    catalog = await engine.call(lambda to: to.GetCatalog, rpc)
    return answer(catalog_view(catalog))
