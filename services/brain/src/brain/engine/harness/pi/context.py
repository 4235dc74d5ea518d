"""The model's context, rebuilt from the log. Above: `loop`, `compaction`. Below: `brain_core`.

A fold: `apply` takes in each durable event in order, and `turns` is then a valid request: it begins
with a user, and every tool call is followed by its result, in the calls' order, whatever order they
came in and whatever went wrong. What was interrupted or failed is in the log but is not said to the
model again; what was compacted is there as its summary.
"""

from typing import NamedTuple

from msgspec import UNSET, Struct

from brain.engine.harness.pi.tokens import estimate
from brain.engine.model.protocol import AssistantTurn, ToolTurn, Turn, UserTurn
from brain_core.content import AssistantBlock, TextBlock, ToolCallBlock, UserBlock, text_of
from brain_core.events import (
    AssistantMessage,
    ContextCompacted,
    Event,
    EventData,
    MessagesDelivered,
    MessageWithdrawn,
    ModelRetry,
    ToolResulted,
    TurnStarted,
    UserMessage,
)

_NOT_REPLAYED = ("interrupted", "error")
_LOST = TextBlock("No result of this call was recorded. The action may have happened.")
_SUMMARY = (
    "What was said and done before this point has been summarised, so that it stays within what"
    " you can read at once. Go on from it as if you had read all of it.\n\n"
    "<summary>\n{}\n</summary>"
)


class Group(Struct):
    """What stays together: messages given at once, or an answer with its calls' results.

    `seq` is that of the event which brought it; `begins_turn`: these messages started a turn.
    """

    seq: int
    turns: list[Turn]
    begins_turn: bool = False

    @property
    def from_user(self) -> bool:
        """Whether it is what a user said."""
        return isinstance(self.turns[0], UserTurn)


class _Measured(NamedTuple):
    """So many tokens have all groups before `group`, and `turns` turns of that one."""

    tokens: int
    group: int
    turns: int


_NOT_MEASURED = _Measured(0, 0, 0)


class Context:
    """What the model knows, and how far the open turn has come.

    `steps` are the turn's answers; `retries` and `compacted` are about what has happened since
    the last one.
    """

    def __init__(self) -> None:
        self.steps = 0
        self.retries = 0
        self.compacted = False
        self.summary: str | None = None
        self.groups: list[Group] = []
        self.last_seq = 0
        self._accepted: dict[str, tuple[UserBlock, ...]] = {}
        self._places: dict[str, tuple[Group, int]] = {}
        self._measured = _NOT_MEASURED

    def apply(self, event: Event) -> None:
        assert isinstance(event.seq, int)
        self.last_seq = event.seq
        data = event.data
        if isinstance(data, UserMessage):
            self._accepted[data.message_id] = data.content
        elif isinstance(data, MessageWithdrawn):
            self._accepted.pop(data.message_id, None)
        elif isinstance(data, ToolResulted):
            self._take_result(data)
        else:
            self._advance(event.seq, data)

    def turns(self) -> tuple[Turn, ...]:
        """The conversation so far, oldest first."""
        told = () if self.summary is None else (summary_turn(self.summary),)
        return (*told, *(turn for group in self.groups for turn in group.turns))

    def tokens(self, overhead: int) -> int:
        """About how many tokens a request would have.

        As the model counted them in its last answer, and an estimate of what came after it.
        `overhead` are those of the system prompt and the tools, if nothing has been counted yet.
        """
        tokens, first, counted = self._measured
        rest = self.groups[first : first + 1]
        after = [turn for group in rest for turn in group.turns[counted:]]
        after += [turn for group in self.groups[first + 1 :] for turn in group.turns]
        return (tokens or overhead) + estimate(after)

    def _advance(self, seq: int, data: EventData) -> None:
        if isinstance(data, TurnStarted):
            self.steps, self.retries, self.compacted = 0, 0, False
            self._deliver(seq, data.message_ids, begins_turn=True)
        elif isinstance(data, MessagesDelivered):
            self._deliver(seq, data.message_ids)
        elif isinstance(data, AssistantMessage):
            if data.stop_reason not in _NOT_REPLAYED:
                self.steps += 1
                self.retries, self.compacted = 0, False
                self._answer(seq, data)
        elif isinstance(data, ModelRetry):
            self.retries += 1
        elif isinstance(data, ContextCompacted):
            self._compact(data)

    def _deliver(
        self, seq: int, message_ids: tuple[str, ...], *, begins_turn: bool = False
    ) -> None:
        said: list[Turn] = [UserTurn(self._accepted.pop(each)) for each in message_ids]
        self.groups.append(Group(seq, said, begins_turn))

    def _answer(self, seq: int, message: AssistantMessage) -> None:
        if not _says_anything(message.content):
            return
        group = Group(seq, [AssistantTurn(message.content, message.model)])
        # Results arrive in the order of completion; the places are taken in the calls' order.
        for block in message.content:
            if isinstance(block, ToolCallBlock):
                self._places[block.call_id] = group, len(group.turns)
                group.turns.append(ToolTurn(block.call_id, block.name, (_LOST,), is_error=True))
        self.groups.append(group)
        if message.usage.input_tokens is not None and message.usage.tokens:
            self._measured = _Measured(message.usage.tokens, len(self.groups) - 1, 1)

    def _take_result(self, result: ToolResulted) -> None:
        place = self._places.pop(result.call_id, None)
        if place is not None:
            group, index = place
            group.turns[index] = _tool_turn(result)

    def _compact(self, data: ContextCompacted) -> None:
        self.groups = [group for group in self.groups if group.seq >= data.first_kept_seq]
        self.summary = data.summary
        self.retries, self.compacted = 0, True
        self._measured = _Measured(data.tokens_after, len(self.groups), 0)


def summary_turn(summary: str) -> UserTurn:
    """A summary as the model is told it."""
    return UserTurn((TextBlock(_SUMMARY.format(summary)),))


def _says_anything(content: tuple[AssistantBlock, ...]) -> bool:
    """Whether there is a call or a text in it: providers refuse an answer without either."""
    called = any(isinstance(block, ToolCallBlock) for block in content)
    return called or bool(text_of(content).strip())


def _tool_turn(result: ToolResulted) -> ToolTurn:
    content = result.content
    if not content and result.structured_content is not UNSET:
        content = (TextBlock(bytes(result.structured_content).decode()),)
    return ToolTurn(result.call_id, result.name, content, result.is_error)
