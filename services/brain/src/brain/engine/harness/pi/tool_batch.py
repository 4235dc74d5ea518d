"""The calls of one answer, run at the same time. Above: `loop`. Below: a `ToolCaller`.

Each call's result becomes durable as it comes, so that one slow or failed call loses nothing of
another's. An interrupt cancels what is in flight; every call has its result all the same.
"""

import asyncio
from collections.abc import Sequence

from msgspec import Raw

from brain.engine.harness.pi.step import WantedCall, json_or_text
from brain.engine.harness.protocol import TurnPort
from brain.engine.tool import outcome
from brain.engine.tool.protocol import RunningCall, ToolCall
from brain_core.content import ToolResult
from brain_core.events import ToolCalled, ToolProgress, ToolResulted


def calls_of(wanted: Sequence[WantedCall]) -> tuple[ToolCalled, ...]:
    """The events that must be durable before anything is sent."""
    return tuple(
        ToolCalled(call.call_id, call.name, json_or_text(call.arguments)) for call in wanted
    )


async def run_batch(turn: TurnPort, wanted: Sequence[WantedCall]) -> None:
    """Run the calls and make their results durable."""
    if turn.interrupt.reason is not None:
        await _answer_all(turn, wanted, outcome.interrupted(sent=False))
        return
    running = [_start(turn, call) for call in wanted]
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_finish(turn, call, begun))
            for call, begun in zip(wanted, running, strict=True)
        ]
        with turn.interrupt.scope() as scope:
            await asyncio.wait(tasks)
        if scope.cancelled:
            for begun in running:
                begun.interrupt()


async def refuse_batch(turn: TurnPort, wanted: Sequence[WantedCall]) -> None:
    """An answer that was cut off runs none of its calls: the last may be half of what it meant."""
    await _answer_all(turn, wanted, outcome.answer_cut_off())


def _start(turn: TurnPort, call: WantedCall) -> RunningCall:
    def on_progress(progress: Raw) -> None:
        turn.publish(ToolProgress(call.call_id, progress))

    return turn.caller.start(
        ToolCall(
            tenant_id=turn.tenant_id,
            session_id=turn.session_id,
            call_id=call.call_id,
            name=call.name,
            arguments=call.arguments,
            enabled=turn.config.tools,
            traceparent=turn.traceparent,
        ),
        on_progress,
    )


async def _finish(turn: TurnPort, call: WantedCall, running: RunningCall) -> None:
    began = asyncio.get_running_loop().time()
    result = await running.result()
    milliseconds = round((asyncio.get_running_loop().time() - began) * 1000)
    await turn.append(_event(call, result, milliseconds))


async def _answer_all(turn: TurnPort, wanted: Sequence[WantedCall], result: ToolResult) -> None:
    await turn.append(*(_event(call, result, 0) for call in wanted))


def _event(call: WantedCall, result: ToolResult, duration_ms: int) -> ToolResulted:
    return ToolResulted(
        call_id=call.call_id,
        name=call.name,
        content=result.content,
        is_error=result.is_error,
        unknown_outcome=result.unknown_outcome,
        structured_content=result.structured_content,
        code=result.code,
        duration_ms=duration_ms,
    )
