"""Is the process up, and can it do its work? Above: supervisors. Below: the engine's health."""

from fastapi import APIRouter, Request, Response

from brain.edge.engine_client import EngineClient
from brain.edge.openapi import Answer, documented_public
from brain.edge.problems import unavailable
from brain.edge.query import NoQuery, read_query
from brain.edge.views import Health, answer

router = APIRouter(tags=["health"])


@router.get("/healthz", **documented_public(Answer(200, "The process is up.", Health)))
async def healthz(request: Request) -> Response:
    """Whether the process is up."""
    read_query(request, NoQuery)
    return answer(Health())


@router.get(
    "/readyz",
    **documented_public(Answer(200, "The engine and its store can be reached.", Health), 503),
)
async def readyz(request: Request) -> Response:
    """Whether requests can be served: the engine answers, and says that its store does."""
    read_query(request, NoQuery)
    engine: EngineClient = request.app.state.engine
    if not await engine.serving():
        raise unavailable()
    return answer(Health())
