"""Whatever happens to a session in whatever order, its log breaks no promise.

And every request that comes of it is one that a provider takes, in each of the three formats.

As a rule the same 60 plans are played each time, so that a change is judged by what it changed.
`BRAIN_TEST_PLANS=3000` plays as many new ones, until one fails; that one is then made
shorter and printed.
"""

import asyncio
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from brain.engine.harness.pi.context import Context
from brain.engine.model.protocol import Turn
from brain_core.content import TextBlock
from brain_core.events import Event, TurnCompleted
from brain_core.session import SessionConfig
from brain_testing.play.plans import CONFIGS, PLANS, WINDOWS, Plan, Restart, play
from brain_testing.play.player import SessionPlayer, session_player
from brain_testing.play.promises import broken, sum_of
from brain_testing.scripted_model import Known

pytestmark = pytest.mark.requirement("LOOP-02", "TOOL-09", "EVT-01", "MSG-02", "MODEL-04")

NEW_PLANS = int(os.environ.get("BRAIN_TEST_PLANS", "0"))


@pytest.mark.timeout(120 + NEW_PLANS)
@settings(
    max_examples=NEW_PLANS or 60,
    derandomize=not NEW_PLANS,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(plan=PLANS, config=CONFIGS, window=WINDOWS, ending=st.sampled_from(["", "close", "restart"]))
def test_any_interleaving_leaves_a_log_that_every_provider_takes(
    plan: Plan, config: SessionConfig, window: int | None, ending: str
) -> None:
    asyncio.run(played(plan, config, window, ending))


async def played(plan: Plan, config: SessionConfig, window: int | None, ending: str) -> None:
    """Play the plan, then let one message more be answered, and look at what the log says."""
    known = Known(tokens=window)
    with tempfile.TemporaryDirectory() as folder:
        async with session_player(Path(folder) / "log.db", config, known) as player:
            await play(player, plan)
            if ending == "close":
                player.end()
            await player.finish()
            if ending == "restart":
                await player.restart()
            player.send((TextBlock("And now?"),), "queue")
            await player.finish()
            events = await player.events()
            note(as_text(events))
            keeps_its_promises(player, events)
            await agrees_with_its_record(player, events, closed=ending == "close")
            if not any(isinstance(each, Restart) for each in plan):
                assert player.model.used == sum_of(events)


def as_text(events: list[Event]) -> str:
    return "\n".join(f"{event.seq} {event.turn_id} {event.type} {event.data}" for event in events)


def keeps_its_promises(player: SessionPlayer, events: list[Event]) -> None:
    assert player.model.refused == []
    assert broken(events, player.accepted) == []
    last = events[-1].data
    if isinstance(last, TurnCompleted) and last.stop_reason == "end_turn":
        assert told_before_the_last_answer(events) == player.model.requests[-1].turns


def told_before_the_last_answer(events: list[Event]) -> tuple[Turn, ...]:
    """What the log says that the model was told."""
    context = Context()
    for event in events:
        context.apply(event)
    return context.turns()[:-1]


async def agrees_with_its_record(
    player: SessionPlayer, events: list[Event], *, closed: bool
) -> None:
    record = await player.record()
    assert (record.status, record.open) == ("closed" if closed else "idle", False)
    assert record.last_seq == len(events)
    assert record.usage == sum_of(events) == await player.tenant_usage()
