"""A tool service: its tools, what they stand on, its bindings. Above: whoever writes one.

Below: `tool`, `resource`, `app`, `serve`, `command`.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from starlette.routing import BaseRoute

from tool_service.answer import Pace
from tool_service.app import Limits, create_app
from tool_service.call import Json
from tool_service.command import Command, run_command
from tool_service.metrics import Metrics
from tool_service.resource import Open, Resource, open_all, resource_of
from tool_service.serve import listen, serving
from tool_service.signature import signature_of
from tool_service.tool import Function, Tool

F = TypeVar("F", bound=Function)
R = TypeVar("R", bound=Open)
T = TypeVar("T")


class ToolService:
    """A service with any number of tools, each at `POST /tools/NAME`.

    `token_env` names the variable with the bearer token that Brain sends. `port` is where it
    listens, on loopback, unless `--listen` says otherwise. What its data folder is without `--data`
    is `.brain/NAME`; it is made when a resource asks for it.

    Beside its tools it may have `routes` of its own and more `commands` on its command line, and
    may add metrics to `metrics.registry`.
    """

    def __init__(
        self,
        name: str,
        *,
        token_env: str,
        port: int,
        pace: Pace | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.name = name
        self.token_env = token_env
        self.port = port
        self.tools: dict[str, Tool] = {}
        self.routes: list[BaseRoute] = []
        self.commands: list[Command] = []
        self.metrics = Metrics()
        self._pace = pace or Pace()
        self._limits = limits or Limits()
        self._resources: list[Resource] = []
        self._opened: dict[type, Any] = {}
        self._stopping: list[Callable[[], None]] = []

    def tool(
        self,
        description: str,
        *,
        name: str | None = None,
        input_schema: Json | None = None,
        output_schema: Json | None = None,
        inspect_session: bool = False,
        timeout_seconds: int = 300,
        max_output_bytes: int = 1024 * 1024,
    ) -> Callable[[F], F]:
        """Make a tool of an async function, or of an async generator that yields progress.

        The function's name is the tool's and its typed parameters are the arguments, unless `name`
        and `input_schema` say otherwise. A parameter of type `Call` is the call; one whose type a
        `resource` gives is that resource. A generator's last yield is a `Result`.
        """

        def register(function: F) -> F:
            signature = signature_of(function, [each.kind for each in self._resources])
            made = Tool(
                name=name or function.__name__,
                description=description,
                input_schema=input_schema or signature.schema(),
                output_schema=output_schema,
                inspect_session=inspect_session,
                timeout_seconds=timeout_seconds,
                max_output_bytes=max_output_bytes,
                function=function,
                signature=signature,
                schema_given=input_schema is not None,
            )
            self.tools[made.name] = made
            return function

        return register

    def resource(self, function: R) -> R:
        """Open something before the first call: an async generator that yields it once.

        Its annotation says the type: `-> AsyncGenerator[Database]`. It may ask for the data folder,
        by a parameter of type `Path`, and for resources that were declared before it. What follows
        the yield closes it. It may raise `CannotServe` with one clear line.
        """
        self._resources.append(resource_of(function))
        return function

    def opened(self, kind: type[T]) -> T:
        """A resource, by its type, for a route of the service's own, while the service runs."""
        return self._opened[kind]

    def when_stopping(self, function: Callable[[], None]) -> None:
        """Have a resource told that the service stops, before it waits for calls to end.

        What holds calls or streams open can end them then. Two seconds later they are cancelled.
        """
        self._stopping.append(function)

    def bindings(self, url: str, tenants: Sequence[str] = ("local",)) -> list[Json]:
        """The tools' bindings, ready for the `tools` of Brain's host config."""
        return [
            _binding(tool, f"{url.rstrip('/')}/tools/{tool.name}", self.token_env, tenants)
            for tool in self.tools.values()
        ]

    @asynccontextmanager
    async def running(
        self,
        token: str | None,
        *,
        data: Path,
        host: str = "127.0.0.1",
        port: int = 0,
        metrics: tuple[str, int] | None = None,
    ) -> AsyncGenerator[str]:
        """Serve while the block runs, in this event loop; gives the URL. Port 0 takes a free one.

        With no token anyone who reaches it may call. Raises: CannotServe.
        """
        async with AsyncExitStack() as stack:
            listener = listen(host, port)
            stack.callback(listener.close)
            self._opened = await open_all(self._resources, stack, data)
            if metrics is not None:
                await stack.enter_async_context(serving(self.metrics.app(), listen(*metrics)))
            app = create_app(
                self.tools,
                self._opened,
                token,
                self.metrics,
                pace=self._pace,
                limits=self._limits,
                routes=self.routes,
            )
            await stack.enter_async_context(serving(app, listener))
            stack.callback(self._stop)
            shown = f"[{host}]" if ":" in host else host
            yield f"http://{shown}:{listener.getsockname()[1]}"

    def _stop(self) -> None:
        for function in self._stopping:
            function()
        self._stopping.clear()

    def main(self, arguments: Sequence[str] | None = None) -> None:
        """The service's command line: serve, or run one of its commands. Exits."""
        run_command(self, arguments)


def _binding(tool: Tool, url: str, token_env: str, tenants: Sequence[str]) -> Json:
    binding: Json = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
    }
    if tool.output_schema is not None:
        binding["output_schema"] = tool.output_schema
    binding |= {
        "url": url,
        "token_env": token_env,
        "tenants": list(tenants),
        "timeout_seconds": tool.timeout_seconds,
        "max_output_bytes": tool.max_output_bytes,
    }
    return {**binding, "inspect_session": True} if tool.inspect_session else binding
