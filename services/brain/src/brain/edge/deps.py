"""What routes are given. Above: routes. Below: what `app` put into the application's state."""

from typing import Annotated

from fastapi import Depends, Request

from brain.edge.auth import Caller
from brain.edge.engine_client import EngineClient
from brain.edge.settings import EdgeSettings
from brain.edge.watch import Watch


async def _caller(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller


async def _engine(request: Request) -> EngineClient:
    engine: EngineClient = request.app.state.engine
    return engine


async def _watch(request: Request) -> Watch:
    watch: Watch = request.app.state.watch
    return watch


async def _settings(request: Request) -> EdgeSettings:
    settings: EdgeSettings = request.app.state.settings
    return settings


CallerDep = Annotated[Caller, Depends(_caller)]
EngineDep = Annotated[EngineClient, Depends(_engine)]
WatchDep = Annotated[Watch, Depends(_watch)]
SettingsDep = Annotated[EdgeSettings, Depends(_settings)]
