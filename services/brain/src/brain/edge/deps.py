"""What routes are given. Above: routes. Below: what `app` put into the application's state."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from brain.edge.auth import Caller
from brain.edge.engine_client import EngineClient
from brain.edge.settings import EdgeSettings
from brain.edge.watches import Watches


@dataclass(frozen=True)
class Context:
    """Who asks, and what there is to answer with."""

    caller: Caller
    engine: EngineClient
    watch: Watches
    settings: EdgeSettings

    @property
    def tenant_id(self) -> str:
        """The tenant that the request acts for."""
        return self.caller.tenant_id


async def _context(request: Request) -> Context:
    state = request.app.state
    return Context(request.state.caller, state.engine, state.watch, state.settings)


ContextDep = Annotated[Context, Depends(_context)]
"""One dependency and not four: FastAPI takes some 10 µs for each."""
