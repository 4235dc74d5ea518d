"""What Postgres's errors mean, said without the address or a password. Above: the Postgres log.

Below: `asyncpg`. Nothing above this log ever sees an error of the driver.
"""

import asyncpg

from brain.engine.log.protocol import LogUnavailable

LOST: tuple[type[BaseException], ...] = (
    OSError,  # TimeoutError too
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.TooManyConnectionsError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.IdleSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,  # what was the primary is one no more
    asyncpg.TargetServerAttributeNotMatched,
)
"""The connection is of no more use. What was sent last may have been done, or not."""

PASSING: tuple[type[BaseException], ...] = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.LockNotAvailableError,
)
"""Nothing was done, and the same thing may well succeed now."""

FAILED: tuple[type[BaseException], ...] = (
    *LOST,
    asyncpg.PostgresError,
    asyncpg.InternalClientError,
)
"""Everything that the driver raises."""


def unavailable(error: BaseException) -> LogUnavailable:
    """The log's error for one of Postgres's."""
    if isinstance(error, LOST):
        return LogUnavailable(f"Postgres can't be reached: {reason(error)}.")
    return LogUnavailable(f"Postgres refused: {reason(error)}.")


def reason(error: BaseException) -> str:
    """What is wrong, in words that hold no address and nothing that a user wrote."""
    state: str | None = getattr(error, "sqlstate", None)
    if isinstance(error, asyncpg.PostgresError) and state:
        return f"{type(error).__name__.removesuffix('Error')}, SQLSTATE {state}"
    if isinstance(error, TimeoutError):
        return "it doesn't answer in time"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return "the connection was lost"
