"""The sandbox service: which tools it offers, and what they stand on.

Above: `main`. Below: `tools`, `pool`, `registry`, `tool_service`.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

from sandbox.bounded import Bounded
from sandbox.jobs import Jobs
from sandbox.pool import Pool, Rules
from sandbox.provider import Setup
from sandbox.registry import KINDS, chosen, opened
from sandbox.store import opened as opened_store
from sandbox.tools import Sandboxes, files, jobs, run
from tool_service import ToolService
from tool_service.settings import number, switch

KEY = "BRAIN_SANDBOX_KEY"
PORT = 8082
_OWN = (
    "in this session's own sandbox, which is made at the first use and ends with its files after a "
    "time without use."
)


def make_service(env: Mapping[str, str] = os.environ) -> ToolService:
    """The service. `env` says which provider, with which settings. Raises: CannotServe."""
    service = ToolService("sandbox", token_env=KEY, port=PORT)
    name = chosen(env)

    @service.resource
    async def sandboxes(data: Path) -> AsyncGenerator[Sandboxes]:
        setup = Setup(env, data, switch(env, "SANDBOX_NETWORK"), _rules(env).longest_seconds)
        with opened_store(data, name) as store:
            async with opened(name, setup) as made, contextlib.AsyncExitStack() as stack:
                provider = Bounded(made)
                known = Jobs(provider, store)
                pool = Pool(provider, store, known, _rules(env))
                stack.push_async_callback(pool.close)
                sweeping = asyncio.create_task(pool.sweep_forever())
                stack.push_async_callback(_cancelled, sweeping)
                yield Sandboxes(provider, store, known, pool)

    _add_commands(service, KINDS[name].about)
    _add_files(service)
    return service


def _rules(env: Mapping[str, str]) -> Rules:
    return Rules(
        idle_seconds=number(env, "SANDBOX_IDLE_SECONDS", 1800, 1, 604_800),
        longest_seconds=number(env, "SANDBOX_LONGEST_SECONDS", 86_400, 1, 2_592_000),
        per_tenant=number(env, "SANDBOX_PER_TENANT", 20, 1, 100_000),
    )


def _add_commands(service: ToolService, about: str) -> None:
    service.tool(
        f"Run a bash command {_OWN} {about} The command's output comes with its exit code; what it "
        "leaves running in the background is ended with it. For work of more than a few minutes "
        "use sandbox_start.",
        output_schema=run.OUTPUT,
        timeout_seconds=run.TIMEOUT_SECONDS,
        max_output_bytes=run.MOST_OUTPUT_BYTES,
    )(run.sandbox_run)
    service.tool(
        f"Start a bash command {_OWN} It goes on after this call: ask for its state and output "
        "with sandbox_status, and end it with sandbox_cancel.",
        output_schema=jobs.STARTED,
        timeout_seconds=600,
    )(jobs.sandbox_start)
    service.tool(
        "See whether a job of sandbox_start runs or how it ended, and the last of its output.",
        output_schema=jobs.STATUS,
        max_output_bytes=run.MOST_OUTPUT_BYTES,
    )(jobs.sandbox_status)
    service.tool(
        "End a job of sandbox_start with all that it started, and see the last of its output.",
        output_schema=jobs.STATUS,
        max_output_bytes=run.MOST_OUTPUT_BYTES,
    )(jobs.sandbox_cancel)


def _add_files(service: ToolService) -> None:
    service.tool(
        f"Read a text file, by lines, or look at an image, {_OWN}",
        timeout_seconds=600,
        max_output_bytes=files.MOST_OUTPUT_BYTES,
    )(files.sandbox_read_file)
    service.tool(f"Write a file, with the folders it needs, {_OWN}", timeout_seconds=600)(
        files.sandbox_write_file
    )
    service.tool(
        f"List a folder {_OWN}",
        output_schema=files.LIST,
        timeout_seconds=600,
        max_output_bytes=files.MOST_OUTPUT_BYTES,
    )(files.sandbox_list_files)
    service.tool(
        "End this session's sandbox now, with all its files and jobs. The next use makes a new one."
    )(files.sandbox_stop)


async def _cancelled(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.wait({task})
