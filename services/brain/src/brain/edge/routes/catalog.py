"""What the caller's tenant may use. Below: the rpc GetCatalog."""

from fastapi import APIRouter, Request, Response

from brain.edge.convert import catalog_view
from brain.edge.deps import CallerDep, EngineDep
from brain.edge.openapi import Answer, documented
from brain.edge.query import NoQuery, read_query
from brain.edge.views import Catalog, answer
from brainapi.session.v1.session_service_pb2 import GetCatalogRequest

router = APIRouter(tags=["catalog"])


@router.get(
    "/catalog",
    **documented(Answer(200, "Harnesses, models and tools.", Catalog), problems=(403,)),
)
async def get_catalog(request: Request, caller: CallerDep, engine: EngineDep) -> Response:
    """List the harnesses, models and tools that your tenant may use."""
    read_query(request, NoQuery)
    catalog = await engine.call(
        engine.stub.GetCatalog, GetCatalogRequest(tenant_id=caller.tenant_id)
    )
    return answer(catalog_view(catalog))
