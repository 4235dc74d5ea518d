"""What must be true of every session once it is over. Above: `driver`. Below: nothing.

Each finding is one sentence; there must be none.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from brain_testing.chaos.sessions import Told, plan_of

Json = dict[str, Any]
_FAILURES = ("recovery_limit", "context_overflow", "overloaded")
"""What may end a turn here: the model fails again and again after each start of an engine."""
_ENDS = ("turn.completed", "turn.failed", "turn.interrupted")


def findings(told: Told, record: Json, log: list[Json], arrived: Counter[str]) -> list[str]:
    """All that is wrong with one session: what was told, its record, its log, its calls."""
    rules = (
        _numbers(log),
        _messages(told, log),
        _deliveries(told, log),
        _calls(log, arrived),
        _turns(told, log),
        _views(told, log),
        _record(told, record, log),
    )
    return [f"{told.session_id}: {finding}" for rule in rules for finding in rule]


def _of(log: list[Json], *types: str) -> list[Json]:
    return [event for event in log if event["type"] in types]


def _numbers(log: list[Json]) -> Iterator[str]:
    if [event["seq"] for event in log] != list(range(1, len(log) + 1)):
        yield "the sequence has gaps or repeats"


def _messages(told: Told, log: list[Json]) -> Iterator[str]:
    by_plan = Counter(plan_of(event) for event in _of(log, "message.user"))
    by_id = {event["data"]["message_id"]: event for event in _of(log, "message.user")}
    for name, answer in told.accepted.items():
        event = by_id.get(answer["message_id"])
        if event is None or event["seq"] != answer["seq"] or plan_of(event) != name:
            yield f"the acknowledged message {name} isn't where it was said to be"
    for name, count in by_plan.items():
        if count > 1:
            yield f"the message {name} is there {count} times"
        if name in told.refused:
            yield f"the refused message {name} is there"
        if name not in told.accepted and name not in told.unclear:
            yield f"nobody sent the message {name}"


def _deliveries(told: Told, log: list[Json]) -> Iterator[str]:
    delivered: Counter[str] = Counter()
    for event in _of(log, "turn.started", "message.delivered"):
        delivered.update(event["data"]["message_ids"])
    withdrawn = Counter(event["data"]["message_id"] for event in _of(log, "message.withdrawn"))
    for event in _of(log, "message.user"):
        message_id = event["data"]["message_id"]
        if delivered[message_id] + withdrawn[message_id] != 1:
            yield (
                f"{message_id} was delivered {delivered[message_id]} times"
                f" and withdrawn {withdrawn[message_id]} times"
            )
    yield from (f"the withdrawal of {each} is gone" for each in told.withdrawn - set(withdrawn))


def _calls(log: list[Json], arrived: Counter[str]) -> Iterator[str]:
    results = Counter(event["data"]["call_id"] for event in _of(log, "tool.result"))
    calls = [event["data"]["call_id"] for event in _of(log, "tool.call")]
    if Counter(calls) != results:
        yield "not every call has exactly one result"
    for event in _of(log, "tool.result"):
        data = event["data"]
        count = arrived[data["call_id"]]
        if count > 1:
            yield f"the call {data['call_id']} was sent {count} times"
        if not data["is_error"] and count != 1:
            yield f"the call {data['call_id']} has a result and was sent {count} times"
        if count and data["is_error"] and not data["unknown_outcome"]:
            yield f"the call {data['call_id']} was sent, and its outcome is said to be known"


def _turns(told: Told, log: list[Json]) -> Iterator[str]:
    running: str | None = None
    for event in log:
        turn_id = event["turn_id"]
        if event["type"] == "turn.started":
            if running is not None:
                yield f"{turn_id} began before {running} ended"
            running = turn_id
        elif turn_id is not None and turn_id != running:
            yield f"event {event['seq']} is of {turn_id} and not of {running}"
        if event["type"] in _ENDS:
            running = None
    if running is not None:
        yield f"{running} never ended"
    for event in _of(log, "turn.failed"):
        if event["data"]["error"]["code"] not in _FAILURES:
            yield f"a turn failed: {event['data']['error']}"
    interrupted = {event["turn_id"] for event in _of(log, "turn.interrupted")}
    for turn_id in told.interrupted - interrupted:
        yield f"the interrupt of {turn_id} was acknowledged and is gone"


def _views(told: Told, log: list[Json]) -> Iterator[str]:
    for number, view in enumerate(told.views):
        if view != log:
            yield f"follower {number} saw {_difference(view, log)}"


def _difference(view: list[Json], log: list[Json]) -> str:
    for seen, held in zip(view, log, strict=False):
        if seen != held:
            return f"{seen['type']} {seen['seq']} instead of {held['type']} {held['seq']}"
    return f"{len(view)} of {len(log)} events"


def _record(told: Told, record: Json, log: list[Json]) -> Iterator[str]:
    closed = bool(_of(log, "session.closed"))
    if told.closed and not closed:
        yield "its acknowledged end is gone"
    if record["status"] != ("closed" if closed else "idle"):
        yield f"it is {record['status']}"
    if record["last_seq"] != len(log):
        yield f"its record says {record['last_seq']} events of {len(log)}"
    used = sum(event["data"]["usage"]["input_tokens"] or 0 for event in log if _is_call(event))
    if record["usage"]["input_tokens"] not in (used, used or None):
        yield f"its record says {record['usage']['input_tokens']} tokens of {used}"


def _is_call(event: Json) -> bool:
    kinds = ("message.assistant", "context.compacted", "context.compaction_failed")
    return event["type"] in kinds and "usage" in event["data"]
