"""Who watches the inbox, and how they hear of changes. Above: `stream`, `desk`."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from local_tools.approvals.record import Approval

_WAITING = 256


class Feed:
    """Tells watchers of each request that was asked or has ended.

    A watcher that reads too slowly is let go, and so are all when the feed closes: each gets None
    as its last. It then begins anew, with a whole list.
    """

    def __init__(self) -> None:
        self._watchers: set[asyncio.Queue[Approval | None]] = set()

    @contextmanager
    def watched(self) -> Generator["asyncio.Queue[Approval | None]"]:
        """A queue of changes while the block runs."""
        queue: asyncio.Queue[Approval | None] = asyncio.Queue()
        self._watchers.add(queue)
        try:
            yield queue
        finally:
            self._watchers.discard(queue)

    def tell(self, approval: Approval) -> None:
        for queue in list(self._watchers):
            queue.put_nowait(approval)
            if queue.qsize() > _WAITING:
                self._let_go(queue)

    def close(self) -> None:
        for queue in list(self._watchers):
            self._let_go(queue)

    def _let_go(self, queue: "asyncio.Queue[Approval | None]") -> None:
        self._watchers.discard(queue)
        while not queue.empty():
            queue.get_nowait()
        queue.put_nowait(None)
