"""The requests and the audit log, on disk. Above: `desk`, `routes`. Below: `database`."""

import sqlite3
from typing import Any

import msgspec

from local_tools.approvals.database import Database
from local_tools.approvals.record import Approval, Ending, Entry, Question, Status

_ADD = """
INSERT INTO approvals (call_id, tenant_id, session_id, action, details, requested_at, expires_at,
                       status, arguments_sha256)
VALUES (:call_id, :tenant_id, :session_id, :action, :details, :requested_at, :expires_at,
        'pending', :arguments_sha256)
RETURNING *
"""
_END = """
UPDATE approvals SET status = ?, decided_at = ?, decided_by = ?, comment = ?
WHERE call_id = ? AND status = 'pending'
RETURNING *
"""
_LOG = """
INSERT INTO audit (at, answer, operator, comment, tenant_id, session_id, call_id, action,
                   arguments_sha256)
SELECT decided_at, status, decided_by, comment, tenant_id, session_id, call_id, action,
       arguments_sha256
FROM approvals WHERE call_id = ?
"""
_PENDING = "SELECT * FROM approvals WHERE status = 'pending' ORDER BY requested_at, call_id"
_ENDED = """
SELECT * FROM approvals WHERE status <> 'pending' AND (:status IS NULL OR status = :status)
ORDER BY decided_at DESC, call_id DESC LIMIT :limit
"""


class Store:
    """Requests by call id. Every change is on disk when its method returns.

    Raises: StoreUnavailable, from each method.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, question: Question, requested_at: str, expires_at: str) -> Approval | None:
        """Keep a question; None if its call was kept before."""
        row = {
            **msgspec.to_builtins(question),
            "requested_at": requested_at,
            "expires_at": expires_at,
        }
        try:
            with self._database.transaction() as connection:
                return _approval(connection.execute(_ADD, row).fetchone())
        except sqlite3.IntegrityError:
            return None

    def end(
        self, call_id: str, ending: Ending, at: str, by: str | None, comment: str | None
    ) -> Approval | None:
        """End a pending request and log it, in one step; None if it isn't pending."""
        with self._database.transaction() as connection:
            row = connection.execute(_END, (ending, at, by, comment, call_id)).fetchone()
            if row is None:
                return None
            connection.execute(_LOG, (call_id,))
            return _approval(row)

    def withdraw_all(self, at: str) -> list[Approval]:
        """End what an earlier process left pending: nobody waits for it any more."""
        left = self.listed("pending")
        ended = [self.end(each.call_id, "withdrawn", at, None, None) for each in left]
        return [each for each in ended if each is not None]

    def get(self, call_id: str) -> Approval | None:
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT * FROM approvals WHERE call_id = ?", (call_id,)
            ).fetchone()
            return None if row is None else _approval(row)

    def listed(self, status: Status | None = None, limit: int = 100) -> list[Approval]:
        """All that are pending, oldest first, then `limit` of the others, latest decision first.

        With a `status`, only those.
        """
        with self._database.reading() as connection:
            pending = connection.execute(_PENDING) if status in (None, "pending") else ()
            ended = connection.execute(_ENDED, {"status": status, "limit": limit})
            return [_approval(row) for row in (*pending, *ended) if status in (None, row["status"])]

    def log(self, after: int = 0, limit: int = 1000) -> list[Entry]:
        """The audit log after an entry, oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT * FROM audit WHERE entry > ? ORDER BY entry LIMIT ?", (after, limit)
            )
            return [msgspec.convert(dict(row), Entry) for row in rows]


def _approval(row: Any) -> Approval:
    return msgspec.convert(dict(row), Approval)
