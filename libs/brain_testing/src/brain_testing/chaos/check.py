"""What must be true of every session once it is over, and of all of them. Above: `driver`.

Below: nothing but what was gathered. Each finding is one sentence; there must be none.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime

from msgspec import Struct, field

from brain_testing.chaos.told import Json, Told, plan_of
from brain_testing.chaos.witness import Durable

_FAILURES = ("recovery_limit", "context_overflow", "overloaded")
"""What may end a turn here: the model fails again and again after each start of an engine."""
_ENDS = ("turn.completed", "turn.failed", "turn.interrupted")
_OF_MODEL_CALLS = ("message.assistant", "context.compacted", "context.compaction_failed")
_MAX_RECOVERIES = 3


class Case(Struct):
    """One session: what its client was told, what the log says, what others saw.

    `arrived` holds when each call came to the tool service. One that came `late_seconds` after its
    result was sent by an engine that had lost the session.
    """

    told: Told
    record: Json
    log: list[Json]
    arrived: dict[str, list[float]]
    durable: list[Durable] = field(default_factory=list[Durable])
    late_seconds: float = 2.0


def findings(case: Case) -> list[str]:
    """All that is wrong with one session."""
    told, log = case.told, case.log
    rules = (
        _numbers(log),
        _witnesses(case.durable, log),
        _messages(told, log),
        _deliveries(told, log),
        _calls(log),
        _sent(case),
        _turns(told, log),
        _recoveries(log),
        _views(told, log),
        _end(told, log),
        _answers(told, log),
        _record(case.record, log),
    )
    return [f"{told.name} {told.session_id}: {each}" for rule in rules for each in rule]


def overall(told: Iterable[Told], listed: list[Json], usage: Json) -> list[str]:
    """All that is wrong with the sessions as a whole: their list, and what they have used."""
    return [*_listed(told, listed), *_used(listed, usage)]


def _of(log: list[Json], *types: str) -> list[Json]:
    return [event for event in log if event["type"] in types]


def _numbers(log: list[Json]) -> Iterator[str]:
    if [event["seq"] for event in log] != list(range(1, len(log) + 1)):
        yield "the sequence has gaps or repeats"


def _witnesses(durable: list[Durable], log: list[Json]) -> Iterator[str]:
    """What an engine was told is durable is there, unchanged, and no owner wrote after the next."""
    held = {event["seq"]: event for event in log}
    epoch = 0
    for seq, seen in sorted((each.event["seq"], n) for n, each in enumerate(durable)):
        witness = durable[seen]
        if held.get(seq) != witness.event:
            yield f"event {seq} is not what it was when it was committed"
        if witness.epoch < epoch:
            yield f"event {seq} was written under epoch {witness.epoch}, after epoch {epoch}"
        epoch = max(epoch, witness.epoch)
    for seq, count in Counter(each.event["seq"] for each in durable).items():
        if count > 1:
            yield f"event {seq} was committed {count} times"


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
        if name not in told.accepted and not told.unanswered:
            yield f"the message {name} is there, and nobody was told"


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


def _calls(log: list[Json]) -> Iterator[str]:
    open_calls: dict[str, str | None] = {}
    seen: set[str] = set()
    for event in _of(log, "tool.call", "tool.result"):
        call_id = event["data"]["call_id"]
        if event["type"] == "tool.call":
            if call_id in seen:
                yield f"the call {call_id} is there twice"
            seen.add(call_id)
            open_calls[call_id] = event["turn_id"]
        elif call_id not in open_calls:
            yield f"{call_id} has a result too many"
        elif open_calls.pop(call_id) != event["turn_id"]:
            yield f"{call_id} has its result in another turn"
    yield from (f"{call_id} has no result" for call_id in open_calls)


def _sent(case: Case) -> Iterator[str]:
    for event in _of(case.log, "tool.result"):
        data = event["data"]
        call_id, arrived = data["call_id"], case.arrived.get(data["call_id"], [])
        if len(arrived) > 1:
            yield f"the call {call_id} was sent {len(arrived)} times"
        if not data["is_error"] and not arrived:
            yield f"the call {call_id} has a result and was never sent"
        if arrived and data["is_error"] and not data["unknown_outcome"]:
            yield f"the call {call_id} was sent, and its outcome is said to be known"
        if any(moment > _moment(event) + case.late_seconds for moment in arrived):
            yield f"the call {call_id} was sent after its result was in the log"


def _moment(event: Json) -> float:
    return datetime.fromisoformat(event["created_at"]).timestamp()


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
    ended = _of(log, "turn.interrupted")
    yield from (
        f"the interrupt of {turn_id} was acknowledged and is gone"
        for turn_id in told.interrupted - {event["turn_id"] for event in ended}
    )
    asked = {event["turn_id"] for event in ended if event["data"]["reason"] == "client"}
    if not told.unanswered:
        yield from (f"nobody was told of the end of {each}" for each in asked - told.interrupted)


def _recoveries(log: list[Json]) -> Iterator[str]:
    """A recovered turn names the calls that were open, and gives each its result at once."""
    open_calls: list[str] = []
    recoveries = 0
    for place, event in enumerate(log):
        data = event["data"]
        if event["type"] == "turn.started":
            recoveries = 0
        elif event["type"] == "tool.call":
            open_calls.append(data["call_id"])
        elif event["type"] == "tool.result" and data["call_id"] in open_calls:
            open_calls.remove(data["call_id"])
        elif event["type"] == "turn.recovered":
            recoveries += 1
            if data["attempt"] != recoveries or recoveries > _MAX_RECOVERIES:
                yield f"recovery {recoveries} of {event['turn_id']} says {data['attempt']}"
            results = log[place + 1 : place + 1 + len(open_calls)]
            answered = [each["data"].get("call_id") for each in results]
            codes = {each["data"].get("code") for each in results} - {"engine_died"}
            if data["open_call_ids"] != open_calls or answered != open_calls or codes:
                yield f"the recovery at {event['seq']} doesn't end the calls that were open"


def _views(told: Told, log: list[Json]) -> Iterator[str]:
    for number, view in enumerate(told.views):
        if view != log:
            yield f"follower {number} saw {_difference(view, log)}"


def _difference(view: list[Json], log: list[Json]) -> str:
    for seen, held in zip(view, log, strict=False):
        if seen != held:
            return f"{seen['type']} {seen['seq']} instead of {held['type']} {held['seq']}"
    return f"{len(view)} of {len(log)} events"


def _end(told: Told, log: list[Json]) -> Iterator[str]:
    places = [event["seq"] for event in _of(log, "session.closed")]
    if told.closed and not places:
        yield "its acknowledged end is gone"
    if places and (len(places) > 1 or log[-1]["seq"] != places[0]):
        yield f"it was closed at {places}, and goes on to {log[-1]['seq']}"


def _answers(told: Told, log: list[Json]) -> Iterator[str]:
    for before, again in told.differing:
        yield f"one key was answered {before} and then {again}"
    yield from (f"{path} was never answered" for path in told.unanswered)
    yield from told.strange
    asked = [event["data"] for event in _of(log, "context.compacted") if event["turn_id"] is None]
    done = Counter((each["tokens_before"], each["tokens_after"]) for each in asked)
    known = Counter((each["tokens_before"], each["tokens_after"]) for each in told.compacted)
    if known - done or (done - known and not told.unanswered):
        yield f"{done.total()} compactions were asked for, {known.total()} were acknowledged"


def _record(record: Json, log: list[Json]) -> Iterator[str]:
    status = "closed" if _of(log, "session.closed") else "idle"
    if record["status"] != status:
        yield f"it is {record['status']}"
    if record["last_seq"] != len(log):
        yield f"its record says {record['last_seq']} events of {len(log)}"
    for kind in ("input_tokens", "output_tokens"):
        used = _sum(event["data"]["usage"][kind] for event in log if _is_model_call(event))
        if record["usage"][kind] != used:
            yield f"its record says {record['usage'][kind]} {kind} of {used}"


def _is_model_call(event: Json) -> bool:
    return event["type"] in _OF_MODEL_CALLS and "usage" in event["data"]


def _sum(counts: Iterable[int | None]) -> int | None:
    """What is known of it; None if nothing is."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _listed(told: Iterable[Told], listed: list[Json]) -> Iterator[str]:
    names = Counter(session["metadata"]["name"] for session in listed)
    ids = {session["id"]: session["metadata"]["name"] for session in listed}
    for each in told:
        if each.session_id and ids.get(each.session_id) != each.name:
            yield f"the acknowledged session {each.name} isn't in the list"
    yield from (f"{name} was created {count} times" for name, count in names.items() if count > 1)


def _used(listed: list[Json], usage: Json) -> Iterator[str]:
    for kind in ("input_tokens", "output_tokens"):
        used = _sum(session["usage"][kind] for session in listed)
        if usage["total"][kind] != used:
            yield f"the tenant's sum says {usage['total'][kind]} {kind} of {used}"
