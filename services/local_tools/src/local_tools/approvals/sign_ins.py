"""Who is signed in on the page: a random token in a cookie, its hash on disk. Above: `guard`.

So a restart signs nobody out, signing out is final, and a key that is taken out of the
configuration ends what was signed in with it.
"""

import secrets
from datetime import timedelta

from local_tools.approvals.database import Database
from local_tools.approvals.operators import Operator, Operators, digest
from local_tools.clock import Clock, rfc3339

LASTS = timedelta(hours=12)


class SignIns:
    """Tokens of those who signed in. Raises: StoreUnavailable, from each method."""

    def __init__(self, database: Database, operators: Operators, clock: Clock) -> None:
        self._database = database
        self._operators = operators
        self._clock = clock

    def begin(self, operator: Operator) -> str:
        """A new token, good for `LASTS`."""
        token = secrets.token_urlsafe(32)
        now = self._clock.now()
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM sign_ins WHERE expires_at <= ?", (rfc3339(now),))
            connection.execute(
                "INSERT INTO sign_ins VALUES (?, ?, ?, ?)",
                (digest(token), operator.name, operator.key_sha256, rfc3339(now + LASTS)),
            )
        return token

    def operator(self, token: str) -> str | None:
        """The operator who signed in with this token, if that is still good."""
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT operator, key_sha256 FROM sign_ins WHERE token_sha256 = ? "
                "AND expires_at > ?",
                (digest(token), rfc3339(self._clock.now())),
            ).fetchone()
        if row is None or not self._operators.has(row["operator"], row["key_sha256"]):
            return None
        return row["operator"]

    def end(self, token: str) -> None:
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM sign_ins WHERE token_sha256 = ?", (digest(token),))
