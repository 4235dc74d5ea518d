"""Where agents wait and operators answer. Above: `tool`, `routes`. Below: `store`, `feed`.

A request ends once: by an answer, by expiry, or because nobody waits for it any more. Which of them
came first is decided in the store, in one statement; here the one who waits is told.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime, timedelta

import structlog
from msgspec import Struct

from local_tools.approvals.database import StoreUnavailable
from local_tools.approvals.feed import Feed
from local_tools.approvals.record import Answer, Approval, Ending, Question
from local_tools.approvals.store import Store
from local_tools.clock import Clock, rfc3339

_log = structlog.get_logger(__name__)


class Verdict(Struct, frozen=True):
    """What came of an answer. `approval` is None if there is no such request.

    `taken` says that this answer decided it; without that something else had ended it before.
    """

    approval: Approval | None
    taken: bool


class Waiting:
    """A question that was put to the operators."""

    def __init__(self, ended: "asyncio.Future[Approval]") -> None:
        self._ended = ended

    async def ending(self) -> Approval:
        """How it ended, once it has: by an answer, by expiry, or because the service stops.

        Raises: StoreUnavailable, if that can't be recorded.
        """
        return await self._ended


class Desk:
    """The pending requests of this process."""

    def __init__(self, store: Store, feed: Feed, clock: Clock) -> None:
        self._store = store
        self._feed = feed
        self._clock = clock
        self._waiting: dict[str, asyncio.Future[Approval]] = {}
        store.withdraw_all(self._now())

    @contextmanager
    def asked(self, question: Question, seconds: int) -> Generator[Waiting | None]:
        """Put a question to the operators while the block runs, for at most `seconds`.

        Gives None if this call asked before. Raises: StoreUnavailable.
        """
        now = self._clock.now()
        expires_at = rfc3339(now + timedelta(seconds=seconds))
        approval = self._store.add(question, rfc3339(now), expires_at)
        if approval is None:
            yield None
            return
        ended: asyncio.Future[Approval] = asyncio.get_running_loop().create_future()
        self._waiting[question.call_id] = ended
        expiring = asyncio.create_task(self._expire(question.call_id, seconds))
        self._feed.tell(approval)
        try:
            yield Waiting(ended)
        finally:
            expiring.cancel()
            self._end(question.call_id, "withdrawn")
            del self._waiting[question.call_id]

    def answer(self, call_id: str, operator: str, answer: Answer, comment: str | None) -> Verdict:
        """Answer a request. Raises: StoreUnavailable."""
        approval = self._store.get(call_id)
        if approval is None or approval.status != "pending":
            return Verdict(approval, taken=False)
        if datetime.fromisoformat(approval.expires_at) <= self._clock.now():
            self._end(call_id, "expired")  # its timer is late: the time on the page counts
        ended = self._end(call_id, answer, operator, comment)
        return Verdict(ended or self._store.get(call_id), taken=ended is not None)

    def close(self) -> None:
        """End all that wait: the service stops."""
        for call_id in list(self._waiting):
            self._end(call_id, "withdrawn")
        self._feed.close()

    async def _expire(self, call_id: str, seconds: int) -> None:
        await self._clock.sleep(seconds)
        self._end(call_id, "expired")

    def _end(
        self, call_id: str, ending: Ending, by: str | None = None, comment: str | None = None
    ) -> Approval | None:
        try:
            approval = self._store.end(call_id, ending, self._now(), by, comment)
        except StoreUnavailable as error:
            if by is not None:
                raise  # the operator is told, and may answer again
            _log.error("request_not_ended", call_id=call_id, ending=ending, error=str(error))
            self._give_up(call_id, error)
            return None
        if approval is None:
            return None
        _log.info("request_ended", call_id=call_id, ending=ending, operator=by)
        waiting = self._waiting.get(call_id)
        if waiting is not None and not waiting.done():
            waiting.set_result(approval)
        self._feed.tell(approval)
        return approval

    def _give_up(self, call_id: str, error: StoreUnavailable) -> None:
        """Tell the one who waits that the end can't be recorded."""
        waiting = self._waiting.get(call_id)
        if waiting is not None and not waiting.done():
            waiting.set_exception(error)
            waiting.exception()  # it may have gone: then nobody need be told

    def _now(self) -> str:
        return rfc3339(self._clock.now())
