"""Interrupting a turn: one signal, and scopes in which it cancels what is awaited."""

import asyncio
from types import TracebackType

from brain_core.events import InterruptReason


class Interrupt:
    """A signal that is set once, with a reason, and never cleared."""

    def __init__(self) -> None:
        self.reason: InterruptReason | None = None
        self._scopes: set[InterruptScope] = set()

    def set(self, reason: InterruptReason) -> None:
        """Interrupt. Only the first reason counts."""
        if self.reason is None:
            self.reason = reason
            for scope in tuple(self._scopes):
                scope.cancel()

    def scope(self) -> "InterruptScope":
        """A `with` block that an interrupt cancels; it then ends quietly, `cancelled` set.

        Look at `reason` before entering: an interrupt that was there already cancels nothing.
        """
        return InterruptScope(self._scopes)


class InterruptScope:
    """Like `asyncio.timeout`, but for an interrupt: the block ends, no exception leaves it."""

    def __init__(self, scopes: "set[InterruptScope]") -> None:
        self.cancelled = False
        self._scopes = scopes
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0

    def __enter__(self) -> "InterruptScope":
        self._task = asyncio.current_task()
        assert self._task is not None
        self._cancelling = self._task.cancelling()
        self._scopes.add(self)
        return self

    def cancel(self) -> None:
        """Cancel the block, at its next await."""
        if self._task is not None and not self.cancelled:
            self.cancelled = True
            self._task.cancel()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        self._scopes.discard(self)
        task, self._task = self._task, None
        if not self.cancelled or task is None:
            return False
        from_outside = task.uncancel() > self._cancelling
        return kind is asyncio.CancelledError and not from_outside
