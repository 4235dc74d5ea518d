"""A call on its way: what may stop it, and what it then comes to. Above: `dispatch`.

Whatever stops a call early (an interrupt, either time limit) does so in the same way: the first
to come notes why and cancels the work, which drops the connection.
"""

import asyncio
import traceback
from collections.abc import Awaitable, Callable

import structlog

from brain.engine.tool.outcome import Code, Failure, internal_error, result_of
from brain_core.clock import Clock
from brain_core.content import ToolResult

_log = structlog.get_logger(__name__)


class Flight:
    """A `RunningCall`. The work begins when control goes back to the event loop."""

    def __init__(self, work: "Callable[[Flight], Awaitable[ToolResult]]", clock: Clock) -> None:
        self._work = work
        self._clock = clock
        self._sent = False
        self._headers_seen = False
        self._stopped: Code | None = None
        self._working = False
        self._watchdog: asyncio.Task[None] | None = None
        self._task = asyncio.create_task(self._run())

    async def result(self) -> ToolResult:
        return await self._task

    def interrupt(self) -> None:
        self._stop(Code.INTERRUPTED)

    def limit(self, headers_seconds: float, total_seconds: float) -> None:
        """Stop the call if it takes longer, from now on."""
        self._watchdog = asyncio.create_task(self._watch(headers_seconds, total_seconds))

    @property
    def sent(self) -> bool:
        """Whether anything may have been sent."""
        return self._sent

    def depart(self) -> None:
        """From here on something may be sent."""
        self._sent = True

    def headers_arrived(self) -> None:
        """The service has begun to answer."""
        self._headers_seen = True

    async def _run(self) -> ToolResult:
        task = asyncio.current_task()
        try:
            if self._stopped is None:
                self._working = True
                return await self._work(self)
        except asyncio.CancelledError:
            if self._stopped is None or task is None or task.uncancel() > 0:
                raise
        except Exception as error:  # noqa: BLE001 (a bug must not leave the call without a result)
            # Neither its message nor any local variable: they may hold a URL or a token.
            where = "".join(traceback.format_tb(error.__traceback__))
            _log.error("tool call failed inside", error=type(error).__name__, where=where)
            return internal_error(sent=self._sent)
        finally:
            self._working = False
            if self._watchdog is not None:
                self._watchdog.cancel()
        return result_of(Failure(self._stopped), sent=self._sent)

    def _stop(self, code: Code) -> None:
        if self._stopped is None:
            self._stopped = code
            if self._working:
                self._task.cancel()

    async def _watch(self, headers_seconds: float, total_seconds: float) -> None:
        if headers_seconds < total_seconds:
            await self._clock.sleep(headers_seconds)
            if not self._headers_seen:
                self._stop(Code.TIMEOUT_HEADERS)
                return
            total_seconds -= headers_seconds
        await self._clock.sleep(total_seconds)
        self._stop(Code.TIMEOUT_TOTAL)
