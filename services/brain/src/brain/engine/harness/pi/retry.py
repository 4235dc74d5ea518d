"""Trying a model call again that failed in passing. Above: `loop`, `summary`. Below: a clock."""

from brain.engine.harness.protocol import SessionPort
from brain.engine.model.protocol import Failure
from brain_core.clock import Clock
from brain_core.events import ErrorInfo, EventData, ModelRetry

MAX_RETRIES = 3
_LONGEST_SECONDS = 60.0


def may_retry(failure: Failure, retries: int) -> bool:
    """Whether a call that has been tried again so often may be tried once more."""
    return failure.transient and retries < MAX_RETRIES


def retry_delay(attempt: int, failure: Failure) -> float:
    """Seconds until the first, second, third retry: 2, 4, 8, or what the provider asks for."""
    wanted = 2.0**attempt if failure.retry_after is None else failure.retry_after
    return min(max(wanted, 0.0), _LONGEST_SECONDS)


async def wait_to_retry(
    port: SessionPort, clock: Clock, attempt: int, failure: Failure, *said: EventData
) -> None:
    """Say in the log that there will be another attempt, then wait until it is time.

    An interrupt ends the wait at once. A wait that the engine did not survive is not made up for.
    """
    delay = retry_delay(attempt, failure)
    error = ErrorInfo(failure.code, failure.message)
    await port.append(*said, ModelRetry(attempt, delay, error))
    if port.interrupt.reason is None:
        with port.interrupt.scope():
            await clock.sleep(delay)
