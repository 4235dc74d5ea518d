"""The tools of the example server. Above: `main`. Below: `inspect`, `approvals`, `tool_service`."""

import os
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from local_tools.approvals.command import approvals_command
from local_tools.approvals.database import Database, StoreUnavailable, opened
from local_tools.approvals.desk import Desk
from local_tools.approvals.feed import Feed
from local_tools.approvals.guard import Guard
from local_tools.approvals.operators import operators
from local_tools.approvals.routes import Inbox, routes
from local_tools.approvals.sign_ins import SignIns
from local_tools.approvals.store import Store
from local_tools.approvals.tool import DESCRIPTION, TIMEOUT_SECONDS, request_approval
from local_tools.clock import Clock, SystemClock
from local_tools.inspect import REPORT, report
from tool_service import Call, CannotServe, Result, ToolService

KEY = "BRAIN_TOOLS_KEY"
PORT = 8081


def make_service(env: Mapping[str, str] = os.environ, clock: Clock | None = None) -> ToolService:
    """The example server. `env` has `APPROVALS_KEYS`, if there are operators with keys."""
    service = ToolService("local-tools", token_env=KEY, port=PORT)
    _add_echo(service)
    _add_inspect_session(service)
    _add_approvals(service, env, clock or SystemClock())
    return service


def _add_echo(service: ToolService) -> None:
    @service.tool("Echo text through an external tool service.")
    async def echo(text: Annotated[str, Meta(max_length=4096)]) -> str:
        return text


def _add_inspect_session(service: ToolService) -> None:
    @service.tool(
        "Report what has happened in this session: its events, counted by type, and the last of "
        "them.",
        output_schema=REPORT,
        inspect_session=True,
    )
    async def inspect_session(call: Call, last: Annotated[int, Meta(ge=1, le=100)] = 10) -> Result:
        return await report(call, last)


def _add_approvals(service: ToolService, env: Mapping[str, str], clock: Clock) -> None:
    @service.resource
    async def database(data: Path) -> AsyncGenerator[Database]:
        with opened(data) as found:
            yield found

    @service.resource
    async def inbox(database: Database, data: Path) -> AsyncGenerator[Inbox]:
        known, store, feed = operators(env, data), Store(database), Feed()
        guard = Guard(known, SignIns(database, known, clock))
        try:
            desk = Desk(store, feed, clock)
        except StoreUnavailable as error:
            raise CannotServe(f"its database in {data} can't be used: {error}.") from error
        yield Inbox(desk, store, feed, guard, clock)

    @service.resource
    async def desk(inbox: Inbox) -> AsyncGenerator[Desk]:
        service.when_stopping(inbox.desk.close)
        yield inbox.desk

    service.tool(DESCRIPTION, timeout_seconds=TIMEOUT_SECONDS)(request_approval)
    service.routes += routes(lambda: service.opened(Inbox))
    service.commands.append(approvals_command(f"http://127.0.0.1:{PORT}"))
