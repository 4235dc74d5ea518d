"""One request whose answer Brain reads itself, instead of the SDK. Above: `session`, `transport`.

The SDK sends it and is told when it was answered; the answer's bytes, or what went wrong, are
noted here. So an answer is checked where it can block nobody, and keeps every digit.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from msgspec import Raw

from brain.engine.tool.http_connection import Connection
from brain.engine.tool.mcp.messages import RpcError
from brain.engine.tool.mcp.notices import Progress
from brain.engine.tool.outcome import Failure

MARK = "brain.exchange"
"""In a request's `_meta`: which exchange it is. It never leaves this process."""

Answer = bytes | RpcError | Failure
"""The result's JSON, or the server's error, or what else it came to."""

_MOST_RESUMED = 500
"""How often the rest of one answer is asked for: the SDK goes a level deeper each time."""


def _nothing() -> None:
    pass


def _unheard(_: Progress) -> None:
    pass


@dataclass
class Exchange:
    """A request, and what came of it so far. `left` are the bytes that its answer may still have.

    `arguments` take the place of what the SDK wrote; `headers` are sent beside the SDK's. If it is
    `through`, the SDK reads the answer, too.
    """

    left: int
    limit: int
    arguments: Raw | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    on_sent: Callable[[], None] = _nothing
    on_headers: Callable[[], None] = _nothing
    on_progress: Callable[[Progress], None] = _unheard
    request_id: Raw = field(default_factory=lambda: Raw(b"null"))
    answer: Answer | None = None
    unless_resumed: Failure | None = None
    last_event_id: str | None = None
    through: bool = False
    sent: bool = False
    resumed: int = 0
    abandoned: bool = False
    connection: Connection | None = None

    @property
    def resumable(self) -> bool:
        """Whether the rest of a stream that breaks off can be asked for: a GET, no second call."""
        if self.last_event_id is None or self.abandoned or self.through:
            return False
        return self.resumed < _MOST_RESUMED

    @property
    def waits(self) -> bool:
        """Whether there is somebody who waits for its answer."""
        return self.answer is None and not self.abandoned

    def drop(self) -> None:
        """Nobody waits for the answer any more: end the connection, if there is one."""
        self.abandoned = True
        if self.connection is not None:
            self.connection.wire.drop()

    def take(self, size: int) -> bool:
        """Count bytes of the answer's body; False if they are too many."""
        self.left -= size
        return self.left >= 0

    def settle(self, answer: Answer) -> None:
        """Note what the request came to. Only the first answer counts."""
        if self.answer is None:
            self.answer = answer


def sdk_exchange(max_bytes: int) -> Exchange:
    """An exchange of which the SDK needs the answer itself."""
    return Exchange(left=max_bytes, limit=max_bytes, through=True)
