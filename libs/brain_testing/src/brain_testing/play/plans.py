"""Plans of what happens to a session, in what order. Above: property tests. Below: `play`."""

from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import UNSET, Raw, Struct

from brain.engine.model.protocol import Answer, Delta, Failure, RequestedCall
from brain.engine.tool import outcome
from brain_core.content import ImageBlock, TextBlock, ThinkingBlock, ToolResult, UserBlock
from brain_core.session import Budget, SessionConfig
from brain_core.usage import Usage
from brain_testing.model_server import encrypted_of, signature_of
from brain_testing.model_server.pictures import PNG
from brain_testing.play.parts import MODEL, Bug, Piece
from brain_testing.play.player import SessionPlayer

WINDOW = 3_000
"""Small enough that a few long texts fill it: 1,000 tokens of it are for the conversation."""


class Move(Struct, frozen=True):
    """One thing that happens; its text is what a failing plan is printed as."""

    name: str
    play: Callable[[SessionPlayer], Any]

    def __repr__(self) -> str:
        return self.name


class Moment(Struct, frozen=True):
    """What happens at the same time, and whether all of it becomes durable before the next."""

    moves: tuple[Move, ...]
    settled: bool


class Restart(Struct, frozen=True):
    """The engine dies: what wasn't durable is lost."""


Plan = list[Moment | Restart]


def move(play: Callable[..., Any], *values: Any, **named: Any) -> Move:
    """What a player's method, or a function of a player, does with these values."""
    text = ", ".join([*map(repr, values), *(f"{name}={each!r}" for name, each in named.items())])
    return Move(f"{play.__name__}({text})", lambda player: play(player, *values, **named))


def _weighted(*choices: tuple[int, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """One of them, as often as the numbers say."""
    table = [strategy for weight, strategy in choices for _ in range(weight)]
    return st.integers(0, len(table) - 1).flatmap(table.__getitem__)


LONG = "long " * 300
_PICTURE = ImageBlock(PNG, "image/png")
_BLOCKS: list[tuple[UserBlock, ...]] = [
    (TextBlock("hi"),),
    (TextBlock(" \n"),),
    (TextBlock(LONG),),
    (TextBlock("Look."), _PICTURE),
    (_PICTURE, ImageBlock(PNG, "image/tiff")),
]
_CONTENTS = st.sampled_from(_BLOCKS)
_USAGES = st.sampled_from(
    [Usage(), Usage(10, 5), Usage(None, 3), Usage(900, 100, cache_read_tokens=200, cost_usd=0.25)]
)
_THOUGHTS = st.sampled_from(
    [
        ThinkingBlock("Hm."),
        ThinkingBlock(
            "Hm.",
            Raw(
                msgspec.json.encode({"api": "anthropic-messages", "signature": signature_of("Hm.")})
            ),
        ),
        ThinkingBlock("Hm.", Raw(b'{"api":"openai-chat","field":"reasoning_content"}')),
        ThinkingBlock(
            "Hm.",
            Raw(
                msgspec.json.encode(
                    {
                        "api": "openai-responses",
                        "item": {
                            "type": "reasoning",
                            "id": "rs_1",
                            "summary": [{"type": "summary_text", "text": "Hm."}],
                            "encrypted_content": encrypted_of("Hm."),
                        },
                    }
                )
            ),
        ),
    ]
)
_CALLS = st.builds(
    RequestedCall,
    st.sampled_from(["ask", "ask", "nowhere", "", "a b.c"]),
    st.sampled_from(
        ["{}", "", '{"q": 12345678901234567890}', "[1]", '{"half', f'{{"q":"{LONG}"}}']
    ),
)
_BATCHES = st.lists(_CALLS, min_size=1, max_size=3)


def _answer(thoughts: list[Any], said: str, calls: list[Any], how: str, usage: Usage) -> Answer:
    blocks = (*thoughts, *([TextBlock(said)] if said else []), *calls)
    stop: Any = how if how == "length" else ("tool_calls" if calls else "end_turn")
    return Answer(blocks, stop, usage)


_ANSWERS = st.builds(
    _answer,
    st.lists(_THOUGHTS, max_size=1),
    st.sampled_from(["fine", "", " ", LONG]),
    st.one_of(st.just([]), _BATCHES, _BATCHES),
    st.sampled_from(["whole", "whole", "length"]),
    _USAGES,
)
_DELTAS = st.builds(
    Delta,
    st.sampled_from(["text", "thinking", "tool_arguments"]),
    st.just("half"),
    st.just(0),
    st.one_of(st.none(), _USAGES),
)
_FAILURES = st.builds(
    Failure,
    st.sampled_from(["overloaded", "context_overflow", "auth_failed"]),
    st.just("It failed."),
    st.just(False),
    _USAGES,
).map(lambda failure: msgspec.structs.replace(failure, transient=failure.code == "overloaded"))


_PIECES: st.SearchStrategy[Piece] = _weighted(
    (12, _ANSWERS), (4, _DELTAS), (4, _FAILURES), (2, st.none()), (1, st.just(Bug()))
)
_FOUND = st.builds(
    ToolResult,
    st.sampled_from([(TextBlock("found"),), (TextBlock(LONG),), (_PICTURE,), (TextBlock(""),)]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([UNSET, Raw(b'{"found":[1,null]}')]),
)
_LOST = st.builds(
    outcome.result_of,
    st.builds(outcome.Failure, st.sampled_from(outcome.Code)),
    sent=st.booleans(),
)
_RESULTS = _weighted((2, _FOUND), (1, _LOST))
_DELIVERIES = st.sampled_from(["queue", "steer", "interrupt", "reject"])
_NUMBERS = st.integers(0, 3)

_SENDS = st.builds(lambda *a: move(SessionPlayer.send, *a), _CONTENTS, _DELIVERIES)
_SAYS = _PIECES.map(lambda piece: move(_say, piece))
_NEXTS = st.builds(lambda *a: move(_go_on, *a), _CONTENTS, _DELIVERIES, _PIECES, _NUMBERS, _RESULTS)
_DISTURBANCES = st.one_of(
    _SENDS,
    _SAYS,
    st.builds(lambda *a: move(_end_call, *a), _NUMBERS, _RESULTS),
    st.booleans().map(lambda keep: move(SessionPlayer.interrupt, keep_queue=keep)),
    _NUMBERS.map(lambda number: move(SessionPlayer.withdraw, number)),
    st.just(move(SessionPlayer.compact)),
)


_MOVES = _weighted((3, _NEXTS), (2, _DISTURBANCES))


def _go_on(
    player: SessionPlayer,
    content: tuple[UserBlock, ...],
    delivery: Any,
    piece: Piece,
    number: int,
    result: ToolResult,
) -> Any:
    """Whatever the session waits for."""
    if player.model.call is not None:
        player.model.say(piece)
    elif player.tools.running:
        player.tools.end(number, result)
    elif player.clock.sleepers:
        return player.clock.advance(60)
    else:
        player.send(content, delivery)
    return None


def _say(player: SessionPlayer, piece: Piece) -> None:
    player.model.say(piece)


def _end_call(player: SessionPlayer, number: int, result: ToolResult) -> None:
    player.tools.end(number, result)


_TOGETHER = st.lists(_MOVES, min_size=2, max_size=3).map(tuple)
_MOMENTS = st.builds(
    Moment,
    _weighted((3, _MOVES.map(lambda each: (each,))), (1, _TOGETHER)),
    st.integers(0, 3).map(bool),
)
_STEPS = _weighted((24, _MOMENTS), (1, st.just(Restart())))
PLANS: st.SearchStrategy[Plan] = st.integers(4, 24).flatmap(
    lambda size: st.lists(_STEPS, min_size=size, max_size=size)
)
CONFIGS = st.builds(
    SessionConfig,
    st.just(MODEL),
    st.just(("ask",)),
    system_prompt=st.sampled_from([None, "Be brief."]),
    max_steps=st.sampled_from([1, 3, 100]),
    thinking=st.sampled_from(["off", "high"]),
    budget=st.sampled_from([None, None, Budget(tokens=1_000), Budget(cost_usd=0.4)]),
)
WINDOWS = st.sampled_from([None, WINDOW])


async def play(player: SessionPlayer, plan: Plan) -> None:
    """Let happen what the plan says."""
    for moment in plan:
        if isinstance(moment, Restart):
            await player.restart()
            continue
        for each in moment.moves:
            waiting = each.play(player)
            if waiting is not None:
                await waiting
        await (player.settle() if moment.settled else player.rounds())
