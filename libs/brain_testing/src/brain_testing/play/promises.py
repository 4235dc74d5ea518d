"""What must be true of every log, whatever happened. Above: property tests. Below: `brain_core`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

from brain_core.content import ToolCallBlock
from brain_core.events import (
    AssistantMessage,
    Event,
    MessagesDelivered,
    MessageWithdrawn,
    ModelRetry,
    SessionClosed,
    ToolCalled,
    ToolResulted,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnStarted,
    UserMessage,
    used,
)
from brain_core.usage import Usage

_T = TypeVar("_T")
_ENDS = (TurnCompleted, TurnFailed, TurnInterrupted)
_OF_A_TURN = (AssistantMessage, ToolCalled, ToolResulted, MessagesDelivered, TurnStarted, *_ENDS)


def broken(events: Sequence[Event], accepted: Iterable[str]) -> list[str]:
    """Every promise that the log of a session at rest breaks; `accepted` are its messages' ids."""
    return [
        *_numbers(events),
        *_turns(events),
        *_calls(events),
        *_messages(events, accepted),
        *_steers(events),
        *_sums(events),
        *_retries(events),
    ]


def sum_of(events: Iterable[Event]) -> Usage:
    """What the model calls that these events tell of have used."""
    return sum((used(event.data) or Usage() for event in events), Usage())


def _numbers(events: Sequence[Event]) -> Iterator[str]:
    numbers = [event.seq for event in events]
    if numbers != list(range(1, len(events) + 1)):
        yield f"events are numbered {numbers}"


def _turns(events: Sequence[Event]) -> Iterator[str]:
    """One turn at a time, each with one end, and what belongs to a turn inside it."""
    running: str | None = None
    for event in events:
        if isinstance(event.data, TurnStarted):
            if running is not None:
                yield f"{event.seq}: a turn starts in a turn"
            running = event.turn_id
        elif isinstance(event.data, _OF_A_TURN) and (event.turn_id != running or not running):
            yield f"{event.seq}: {event.type} is outside its turn"
        if isinstance(event.data, _ENDS):
            running = None
    if running is not None:
        yield "a turn has no end"


def _calls(events: Sequence[Event]) -> Iterator[str]:
    """Each call was asked for, then begun, then has its one result, in the same turn."""
    wanted: set[str] = set()
    turn_of: dict[str, str | None] = {}
    open_calls: set[str] = set()
    for event in events:
        data = event.data
        if isinstance(data, AssistantMessage):
            wanted |= {each.call_id for each in data.content if isinstance(each, ToolCallBlock)}
        elif isinstance(data, ToolCalled):
            if data.call_id not in wanted or data.call_id in turn_of:
                yield f"{event.seq}: a call that nobody asked for, or twice"
            turn_of[data.call_id] = event.turn_id
            open_calls.add(data.call_id)
        elif isinstance(data, ToolResulted):
            if data.call_id not in open_calls or turn_of[data.call_id] != event.turn_id:
                yield f"{event.seq}: a result without its call, or a second one"
            open_calls.discard(data.call_id)
    yield from (f"{call_id} has no result" for call_id in open_calls)
    yield from (f"{call_id} was never begun" for call_id in wanted - turn_of.keys())


def _messages(events: Sequence[Event], accepted: Iterable[str]) -> Iterator[str]:
    """Each message was delivered or withdrawn, once; queued ones have their turns in order."""
    sent = {data.message_id: data for data in _all(events, UserMessage)}
    came = Counter[str]()
    for event in events:
        if isinstance(event.data, TurnStarted | MessagesDelivered):
            came.update(event.data.message_ids)
        elif isinstance(event.data, MessageWithdrawn):
            came[event.data.message_id] += 1
    yield from (f"{each} was accepted and isn't there" for each in set(accepted) - sent.keys())
    yield from (f"{each} was delivered {came[each]} times" for each in sent if came[each] != 1)
    for delivered in _all(events, MessagesDelivered):
        if any(sent[each].delivery != "steer" for each in delivered.message_ids):
            yield "a message that doesn't steer was given to a running turn"
    order = [each for data in _all(events, TurnStarted) for each in data.message_ids]
    queued = [each for each in order if sent[each].delivery == "queue"]
    if queued != [each for each in sent if each in set(queued)]:
        yield "queued messages had their turns in another order than they came in"
    if any(isinstance(event.data, UserMessage) for event in _after_close(events)):
        yield "a message came after the close"


def _steers(events: Sequence[Event]) -> Iterator[str]:
    """Nobody steers a turn that makes no further call."""
    of_turns = [event for event in events if event.turn_id is not None]
    for event, following in pairwise(of_turns):
        steered = isinstance(event.data, MessagesDelivered)
        if steered and isinstance(following.data, TurnCompleted):
            yield f"{event.seq}: given to a turn that ended by {following.data.stop_reason}"


def _after_close(events: Sequence[Event]) -> Sequence[Event]:
    for place, event in enumerate(events):
        if isinstance(event.data, SessionClosed):
            return events[place + 1 :]
    return ()


def _sums(events: Sequence[Event]) -> Iterator[str]:
    """The usage of each turn is the sum of its calls'."""
    for event in events:
        if isinstance(event.data, _ENDS):
            calls = sum_of(each for each in events if each.turn_id == event.turn_id)
            if event.data.usage != calls:
                yield f"{event.seq}: the turn says {event.data.usage}, its calls {calls}"


def _retries(events: Sequence[Event]) -> Iterator[str]:
    for attempt in (retry.attempt for retry in _all(events, ModelRetry)):
        if not 1 <= attempt <= 3:
            yield f"a call was tried again for the {attempt}th time"


def _all(events: Sequence[Event], kind: type[_T]) -> list[_T]:
    return [event.data for event in events if isinstance(event.data, kind)]
