"""The model's context, rebuilt from the log. Above: `loop`. Below: `brain_core`.

A fold: `apply` takes in each durable event in order, and `turns` is then a valid request: every
tool call is followed by its result, in the calls' order, whatever order they came in and whatever
went wrong. What was interrupted or failed is in the log but is not said to the model again.
"""

from msgspec import UNSET

from brain.engine.model.protocol import AssistantTurn, ToolTurn, Turn, UserTurn
from brain_core.content import TextBlock, ToolCallBlock, UserBlock
from brain_core.events import (
    AssistantMessage,
    Event,
    EventData,
    MessagesDelivered,
    MessageWithdrawn,
    ToolResulted,
    TurnStarted,
    UserMessage,
)
from brain_core.usage import Usage

_NOT_REPLAYED = ("interrupted", "error")
_LOST = TextBlock("No result of this call was recorded. The action may have happened.")


class Context:
    """What the model knows, and what the open turn has used so far."""

    def __init__(self) -> None:
        self.steps = 0
        self.usage = Usage()
        self._turns: list[Turn] = []
        self._accepted: dict[str, tuple[UserBlock, ...]] = {}
        self._batch: dict[str, ToolTurn] = {}

    def apply(self, event: Event) -> None:
        data = event.data
        if isinstance(data, UserMessage):
            self._accepted[data.message_id] = data.content
        elif isinstance(data, MessageWithdrawn):
            self._accepted.pop(data.message_id, None)
        elif isinstance(data, ToolResulted):
            self._batch[data.call_id] = _tool_turn(data)
        else:
            self._advance(data)

    def turns(self) -> tuple[Turn, ...]:
        """The conversation so far, oldest first."""
        return (*self._turns, *self._batch.values())

    def _advance(self, data: EventData) -> None:
        if isinstance(data, TurnStarted):
            self.steps, self.usage = 0, Usage()
            self._deliver(data.message_ids)
        elif isinstance(data, MessagesDelivered):
            self._deliver(data.message_ids)
        elif isinstance(data, AssistantMessage):
            self.steps += 1
            self.usage += data.usage
            if data.stop_reason not in _NOT_REPLAYED:
                self._answer(data)

    def _deliver(self, message_ids: tuple[str, ...]) -> None:
        self._end_batch()
        for message_id in message_ids:
            self._turns.append(UserTurn(self._accepted.pop(message_id)))

    def _answer(self, message: AssistantMessage) -> None:
        self._end_batch()
        self._turns.append(AssistantTurn(message.content, message.model))
        # Results arrive in the order of completion; the places are taken in the calls' order.
        for block in message.content:
            if isinstance(block, ToolCallBlock):
                self._batch[block.call_id] = ToolTurn(block.call_id, block.name, (_LOST,), True)

    def _end_batch(self) -> None:
        self._turns.extend(self._batch.values())
        self._batch.clear()


def _tool_turn(result: ToolResulted) -> ToolTurn:
    content = result.content
    if not content and result.structured_content is not UNSET:
        content = (TextBlock(bytes(result.structured_content).decode()),)
    return ToolTurn(result.call_id, result.name, content, result.is_error)
