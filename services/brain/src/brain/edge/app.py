"""The edge as one ASGI application.

Above: the wiring runs it under uvicorn. Below: routes, behind `ErrorMiddleware` and
`AuthMiddleware`.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse

from brain.edge import openapi
from brain.edge.auth import PUBLIC_PATHS, ApiKeys, AuthMiddleware
from brain.edge.docs_page import docs_page
from brain.edge.engine_client import EngineClient
from brain.edge.errors import ErrorMiddleware, routing_error
from brain.edge.headers import HeadersMiddleware
from brain.edge.routes import catalog, events, health, messages, sessions, usage
from brain.edge.settings import EdgeSettings
from brain.edge.watches import Watches

_DESCRIPTION = "Sessions of AI agents: send messages, follow events, decide which tools they have."
_DOCS_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"


def create_app(settings: EdgeSettings) -> FastAPI:
    """The application. Its lifespan opens the way to the engine, which may come later."""
    app = FastAPI(
        title="Brain",
        version=version("brain-server"),
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
        exception_handlers={HTTPException: routing_error},
        middleware=[
            Middleware(HeadersMiddleware),
            Middleware(ErrorMiddleware),
            Middleware(AuthMiddleware, keys=ApiKeys(settings.api_keys)),
        ],
    )
    app.state.settings = settings
    for module in (sessions, messages, events, catalog, usage, health):
        # Flat: what is possible at a path can then be read from `app.routes`, for 405.
        app.router.routes.extend(module.router.routes)
    app.add_route("/docs", _docs, include_in_schema=False)
    openapi.install(app, PUBLIC_PATHS, settings.public_url)
    return app


def end_streams(app: FastAPI) -> None:
    """End every open event stream, so that a server that stops needn't wait for its readers."""
    watch: Watches = app.state.watch
    watch.end_streams()


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncGenerator[None]:
    settings: EdgeSettings = app.state.settings
    engine = EngineClient(settings)
    watch = Watches(engine)
    app.state.engine, app.state.watch = engine, watch
    watch.start()
    try:
        yield
    finally:
        await watch.close()
        await engine.close()


async def _docs(request: Request) -> HTMLResponse:
    app: FastAPI = request.app
    return HTMLResponse(docs_page(app.openapi()), headers={"Content-Security-Policy": _DOCS_POLICY})
