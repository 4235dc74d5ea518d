"""The chaos drivers' checker finds each kind of broken promise, and nothing in a sound log.

Each case takes a sound session, spoils one thing in it, and says what must be found.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from brain_testing.chaos.check import Case, findings, overall
from brain_testing.chaos.plans import plan
from brain_testing.chaos.told import Told
from brain_testing.chaos.witness import Durable

Json = dict[str, Any]
USED = {"input_tokens": 20, "output_tokens": 10}


class Log:
    """A log that is written event by event, one a second."""

    def __init__(self) -> None:
        self.events: list[Json] = []

    def add(self, kind: str, turn: str | None = None, **data: Any) -> None:
        seq = len(self.events) + 1
        created_at = f"2026-12-01T10:00:{seq:02}.000Z"
        self.events.append(
            {"seq": seq, "type": kind, "turn_id": turn, "created_at": created_at, "data": data}
        )

    def result(self, turn: str, call: str, code: str | None = None) -> None:
        lost = code is not None
        self.add("tool.result", turn, call_id=call, is_error=lost, unknown_outcome=lost, code=code)


def told_of(log: Log) -> Told:
    """What a client of the session below was told."""
    accepted = {"first": ("m1", 2), "second": ("m2", 4), "third": ("m3", 16)}
    return Told(
        "c0-0",
        "ses_1",
        accepted={name: {"message_id": id_, "seq": n} for name, (id_, n) in accepted.items()},
        refused={"fourth"},
        withdrawn={"m3"},
        interrupted={"t2"},
        compacted=[{"tokens_before": 30, "tokens_after": 20}],
        closed=True,
        views=[deepcopy(log.events)],
    )


def sound() -> Case:
    """A session with all that the rules look at: a crash, an interrupt, a compaction, an end."""
    log = Log()
    log.add("session.created")
    log.add("message.user", message_id="m1", content=plan("first", [["quick"]]))
    log.add("turn.started", "t1", message_ids=["m1"])
    log.add("message.user", message_id="m2", content=plan("second", []))
    log.add("message.assistant", "t1", usage=USED)
    log.add("tool.call", "t1", call_id="k1")
    log.add("tool.call", "t1", call_id="k2")
    log.result("t1", "k1")
    log.add("turn.recovered", "t1", open_call_ids=["k2"], attempt=1)
    log.result("t1", "k2", "engine_died")
    log.add("message.assistant", "t1", usage=USED)
    log.add("turn.completed", "t1")
    log.add("turn.started", "t2", message_ids=["m2"])
    log.add("turn.interrupted", "t2", reason="client")
    log.add("context.compacted", tokens_before=30, tokens_after=20, usage=USED)
    log.add("message.user", message_id="m3", content=plan("third", []))
    log.add("message.withdrawn", message_id="m3")
    log.add("session.closed")
    told = told_of(log)
    record = {
        "status": "closed",
        "last_seq": 18,
        "usage": {"input_tokens": 60, "output_tokens": 30},
    }
    began = 1_796_119_200.0  # 2026-12-01T10:00:00Z
    arrived = {"k1": [began + 7.5], "k2": [began + 7.5]}
    durable = [Durable("ses_1", 1 + (each["seq"] > 8), each) for each in deepcopy(log.events)]
    return Case(told, record, log.events, arrived, durable)


def test_a_sound_session_has_no_findings() -> None:
    assert findings(sound()) == []


def event(case: Case, seq: int) -> Json:
    return case.log[seq - 1]


def renumber(case: Case) -> None:
    """As a store would that had never held what was taken out of the log."""
    for seq, each in enumerate(case.log, 1):
        each["seq"] = seq
    case.record["last_seq"] = len(case.log)
    case.durable.clear()
    case.told.views.clear()


def without(case: Case, *seqs: int) -> None:
    case.log[:] = [each for each in case.log if each["seq"] not in seqs]
    renumber(case)


def again(case: Case, seq: int, **data: Any) -> None:
    """The same kind of event once more, right after."""
    twin = deepcopy(event(case, seq))
    twin["data"] |= data
    case.log.insert(seq, twin)
    renumber(case)


SPOILED: dict[str, tuple[Callable[[Case], object], str]] = {
    "a gap in the sequence": (
        lambda case: event(case, 18).update(seq=19),
        "the sequence has gaps or repeats",
    ),
    "a changed event": (
        lambda case: event(case, 5)["data"].update(usage=USED | {"more": 1}),
        "event 5 is not what it was when it was committed",
    ),
    "a committed event that is gone": (
        lambda case: case.log.pop(),
        "event 18 is not what it was when it was committed",
    ),
    "an owner that wrote after the next": (
        lambda case: case.durable.__setitem__(11, Durable("ses_1", 1, event(case, 12))),
        "event 12 was written under epoch 1, after epoch 2",
    ),
    "two owners of one event": (
        lambda case: case.durable.append(Durable("ses_1", 2, event(case, 12))),
        "event 12 was committed 2 times",
    ),
    "a lost message": (
        lambda case: without(case, 16, 17),
        "the acknowledged message third isn't where it was said to be",
    ),
    "a doubled message": (
        lambda case: again(case, 16, message_id="m4"),
        "the message third is there 2 times",
    ),
    "a message that was refused": (
        lambda case: again(case, 16, message_id="m4", content=plan("fourth", [])),
        "the refused message fourth is there",
    ),
    "a message without an answer": (
        lambda case: again(case, 16, message_id="m4", content=plan("fifth", [])),
        "the message fifth is there, and nobody was told",
    ),
    "a message that nobody got": (
        lambda case: event(case, 13)["data"].update(message_ids=[]),
        "m2 was delivered 0 times and withdrawn 0 times",
    ),
    "a message that was delivered again": (
        lambda case: event(case, 13)["data"].update(message_ids=["m1", "m2"]),
        "m1 was delivered 2 times and withdrawn 0 times",
    ),
    "a lost withdrawal": (
        lambda case: without(case, 17),
        "the withdrawal of m3 is gone",
    ),
    "a call without a result": (lambda case: without(case, 8), "k1 has no result"),
    "a second result": (lambda case: again(case, 8), "k1 has a result too many"),
    "a call that is there twice": (
        lambda case: again(case, 6),
        "the call k1 is there twice",
    ),
    "a result of another turn": (
        lambda case: event(case, 8).update(turn_id="t9"),
        "k1 has its result in another turn",
    ),
    "a call that was sent twice": (
        lambda case: case.arrived["k2"].append(case.arrived["k2"][0]),
        "the call k2 was sent 2 times",
    ),
    "a result from nowhere": (
        lambda case: case.arrived.pop("k1"),
        "the call k1 has a result and was never sent",
    ),
    "a wrong outcome": (
        lambda case: event(case, 10)["data"].update(unknown_outcome=False),
        "the call k2 was sent, and its outcome is said to be known",
    ),
    "a call that a late owner sent": (
        lambda case: case.arrived.update(k2=[case.arrived["k2"][0] + 5]),
        "the call k2 was sent after its result was in the log",
    ),
    "a turn that never ended": (lambda case: without(case, 14, 15, 18), "t2 never ended"),
    "two turns at once": (lambda case: without(case, 12), "t2 began before t1 ended"),
    "an event outside its turn": (
        lambda case: event(case, 11).update(turn_id="t2"),
        "event 11 is of t2 and not of t1",
    ),
    "a turn that failed for no reason": (
        lambda case: event(case, 12).update(
            type="turn.failed", data={"error": {"code": "internal_error"}}
        ),
        "a turn failed: {'code': 'internal_error'}",
    ),
    "a lost interrupt": (
        lambda case: event(case, 14).update(type="turn.completed"),
        "the interrupt of t2 was acknowledged and is gone",
    ),
    "an interrupt that nobody was told of": (
        lambda case: case.told.interrupted.clear(),
        "nobody was told of the end of t2",
    ),
    "a recovery that forgets a call": (
        lambda case: event(case, 9)["data"].update(open_call_ids=[]),
        "the recovery at 9 doesn't end the calls that were open",
    ),
    "a recovery that gives another reason": (
        lambda case: event(case, 10)["data"].update(code="timeout_total"),
        "the recovery at 9 doesn't end the calls that were open",
    ),
    "a recovery too many": (
        lambda case: event(case, 9)["data"].update(attempt=4),
        "recovery 1 of t1 says 4",
    ),
    "a follower that missed something": (
        lambda case: case.told.views[0].pop(7),
        "follower 0 saw turn.recovered 9 instead of tool.result 8",
    ),
    "a follower that saw something twice": (
        lambda case: case.told.views[0].append(event(case, 18)),
        "follower 0 saw 19 of 18 events",
    ),
    "a lost end": (lambda case: without(case, 18), "its acknowledged end is gone"),
    "an end that was none": (
        lambda case: again(case, 18),
        "it was closed at [18, 19], and goes on to 19",
    ),
    "another answer to the same key": (
        lambda case: case.told.differing.append(({"seq": 2}, {"seq": 4})),
        "one key was answered {'seq': 2} and then {'seq': 4}",
    ),
    "no answer at all": (
        lambda case: case.told.unanswered.append("/sessions"),
        "/sessions was never answered",
    ),
    "a strange answer": (
        lambda case: case.told.strange.append("/sessions: 404"),
        "/sessions: 404",
    ),
    "a compaction done twice": (
        lambda case: again(case, 15),
        "2 compactions were asked for, 1 were acknowledged",
    ),
    "a record of another state": (
        lambda case: case.record.update(status="running"),
        "it is running",
    ),
    "a record that lags behind": (
        lambda case: case.record.update(last_seq=17),
        "its record says 17 events of 18",
    ),
    "lost usage": (
        lambda case: case.record["usage"].update(input_tokens=40),
        "its record says 40 input_tokens of 60",
    ),
}


@pytest.mark.parametrize("what", SPOILED)
def test_is_found(what: str) -> None:
    spoil, finding = SPOILED[what]
    case = sound()

    spoil(case)

    assert f"c0-0 ses_1: {finding}" in findings(case)


LISTED = [
    {"id": "ses_1", "metadata": {"name": "c0-0"}, "usage": USED},
    {"id": "ses_2", "metadata": {"name": "c1-0"}, "usage": USED},
]
TOLD = [Told("c0-0", "ses_1"), Told("c1-0", "ses_2")]
TOTAL = {"total": {"input_tokens": 40, "output_tokens": 20}}


def test_a_sound_list_has_no_findings() -> None:
    assert overall(TOLD, LISTED, TOTAL) == []


def test_a_lost_session_is_found() -> None:
    assert "the acknowledged session c1-0 isn't in the list" in overall(TOLD, LISTED[:1], TOTAL)


def test_a_doubled_session_is_found() -> None:
    twice = [*LISTED, {**LISTED[1], "id": "ses_3"}]

    assert "c1-0 was created 2 times" in overall(TOLD, twice, TOTAL)


def test_usage_that_the_tenant_is_not_charged_is_found() -> None:
    less = {"total": {"input_tokens": 20, "output_tokens": 20}}

    assert overall(TOLD, LISTED, less) == ["the tenant's sum says 20 input_tokens of 40"]
