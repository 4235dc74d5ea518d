"""Where a session stands: a fold of its events. Above: `actor`, `recovery`. Below: `brain_core`."""

from msgspec import Struct

from brain_core.content import UserBlock
from brain_core.events import (
    Event,
    MessagesDelivered,
    MessageWithdrawn,
    SessionClosed,
    SessionCreated,
    ToolCalled,
    ToolResulted,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnRecovered,
    TurnStarted,
    UserMessage,
    used,
)
from brain_core.session import Delivery, Status
from brain_core.usage import Usage


class WaitingMessage(Struct, frozen=True):
    """A message that is accepted and not yet delivered."""

    message_id: str
    seq: int
    delivery: Delivery
    content: tuple[UserBlock, ...]
    created_at: str


class OpenTurn(Struct):
    """A turn that has started and not ended. `open_calls` maps ids of calls to tool names.

    `usage` is the sum over its model calls.
    """

    turn_id: str
    message_ids: tuple[str, ...]
    open_calls: dict[str, str]
    recoveries: int = 0
    usage: Usage = Usage()


class SessionState:
    """The fold. `apply` takes in each durable event in order."""

    def __init__(self) -> None:
        self.created: SessionCreated | None = None
        self.closed = False
        self.turn: OpenTurn | None = None
        self.waiting: dict[str, WaitingMessage] = {}
        self.last_seq = 0
        self.updated_at = ""
        self.usage = Usage()

    @property
    def idle(self) -> bool:
        """No turn runs and no message waits."""
        return self.turn is None and not self.waiting

    @property
    def status(self) -> Status:
        if self.closed:
            return "closed"
        return "idle" if self.idle else "running"

    def apply(self, event: Event) -> None:
        assert isinstance(event.seq, int)
        self.last_seq = event.seq
        self.updated_at = event.created_at
        self._count(used(event.data))
        match event.data:
            case UserMessage() as message:
                self.waiting[message.message_id] = WaitingMessage(
                    message.message_id,
                    event.seq,
                    message.delivery,
                    message.content,
                    event.created_at,
                )
            case MessageWithdrawn(message_id=message_id):
                self.waiting.pop(message_id, None)
            case MessagesDelivered(message_ids=message_ids):
                self._delivered(message_ids)
            case SessionCreated() as created:
                self.created = created
            case SessionClosed():
                self.closed = True
            case _:
                self._apply_turn(event)

    def _apply_turn(self, event: Event) -> None:
        turn = self.turn
        match event.data:
            case TurnStarted(message_ids=message_ids):
                self._delivered(message_ids)
                self.turn = OpenTurn(event.turn_id or "", message_ids, {})
            case TurnCompleted() | TurnFailed() | TurnInterrupted():
                self.turn = None
            case ToolCalled(call_id=call_id, name=name) if turn:
                turn.open_calls[call_id] = name
            case ToolResulted(call_id=call_id) if turn:
                turn.open_calls.pop(call_id, None)
            case TurnRecovered(attempt=attempt) if turn:
                turn.recoveries = attempt
            case _:
                pass

    def _count(self, usage: Usage | None) -> None:
        if usage is not None:
            self.usage += usage
            if self.turn is not None:
                self.turn.usage += usage

    def _delivered(self, message_ids: tuple[str, ...]) -> None:
        for message_id in message_ids:
            self.waiting.pop(message_id, None)
